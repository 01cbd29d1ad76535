"""Many independent runs: who does them, how far they are, and what is kept of them."""

from calque.experiments.jobs.backends import HOLD, RETRIES, Options, choose_crew, take_share
from calque.experiments.jobs.digests import Digests
from calque.experiments.jobs.events import Began, Broke, Ended, News, Note, Standing, Tell, nobody
from calque.experiments.jobs.folder import Paced, make_folder
from calque.experiments.jobs.job import (
    Crew,
    Done,
    Fate,
    Happening,
    Job,
    Lost,
    Mended,
    Share,
    Started,
    Unreadable,
    Watch,
)
from calque.experiments.jobs.local import Here
from calque.experiments.jobs.machine import cores, machine, versions
from calque.experiments.jobs.on_ray import OnRay, WorkerLostError
from calque.experiments.jobs.runs import KEPT, RETRIEVALS, Keep, Making, Named, Run, Score, failure, settings_digest
from calque.experiments.jobs.spaces import SpaceFile, read_space
from calque.experiments.jobs.time_left import Tally

__all__ = [
    "HOLD",
    "KEPT",
    "RETRIES",
    "RETRIEVALS",
    "Began",
    "Broke",
    "Crew",
    "Digests",
    "Done",
    "Ended",
    "Fate",
    "Happening",
    "Here",
    "Job",
    "Keep",
    "Lost",
    "Making",
    "Mended",
    "Named",
    "News",
    "Note",
    "OnRay",
    "Options",
    "Paced",
    "Run",
    "Score",
    "Share",
    "SpaceFile",
    "Standing",
    "Started",
    "Tally",
    "Tell",
    "Unreadable",
    "Watch",
    "WorkerLostError",
    "choose_crew",
    "cores",
    "failure",
    "machine",
    "make_folder",
    "nobody",
    "read_space",
    "settings_digest",
    "take_share",
    "versions",
]
