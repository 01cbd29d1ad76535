"""From a plan to its table: makes every run that is missing, keeps each, and keeps the table up to date."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import groupby
from pathlib import Path

from calque import recipes
from calque.errors import CalqueError, LexiconError, RunError, SettingsError
from calque.experiments.backends import BackendOptions, assign_device, choose_backend
from calque.experiments.events import Listener, Note, RunBroken, RunEnded, RunStarted, TimeLeft, ignore
from calque.experiments.gold import GoldCache, WordPairs
from calque.experiments.jobs import (
    FileMended,
    Job,
    JobEvent,
    JobLost,
    JobStarted,
    Resources,
    Watch,
)
from calque.experiments.plan import Experiment, ExperimentPlan, GoldFile, in_tiles
from calque.experiments.render import rendered
from calque.experiments.report import Report
from calque.experiments.results import (
    ExperimentKey,
    FinishedRun,
    InputDigests,
    LostRun,
    Provenance,
    ResultStore,
    make_output_folder,
    settings_digest,
)
from calque.experiments.worker import Engine, Judges, SeedBatch, make_runs
from calque.progress import Listen, never, quiet
from calque.recipes.running import versions
from calque.runs import folder as store

QUICK = 0.1
"""A table that is rendered and written in so many seconds is brought up to date after every run."""
PATIENCE = 50.0
"""Of a slower table, the pause between two updates is so many times what one update takes."""
DATE = re.compile(r"\d{4}-\d\d-\d\d")
LOCAL = BackendOptions(workers=0)
"""In this process, one run after the other."""

Runs = list[FinishedRun | LostRun]


def run_plan(
    plan: ExperimentPlan,
    output: Path,
    options: BackendOptions = LOCAL,
    report: Listener = ignore,
    listen: Listen = quiet,
    stopped: Callable[[], bool] = never,
    engine: Engine | None = None,
) -> Report:
    """Make every run of a plan that is not there yet, and keep the table in ``output`` up to date.

    A finished run is never repeated. Nothing is written if the plan cannot be carried out at all. A run that is lost,
    or whose files cannot be read, does not stop the others.
    """
    most_cpus = max((run.resources.cpus for run in plan.experiments if run.resources), default=1)
    with choose_backend(options, most_cpus, Watch(listen, stopped)) as (backend, gpus):
        for experiment in plan.experiments:
            _place(plan, experiment, options, gpus)
        folder = make_output_folder(output)
        work = _Execution(plan, folder, options, gpus, report, engine or Engine())
        writer = TableWriter(folder)
        for note in plan.notes:
            work.note(note)
        work.take_up()
        try:
            writer.update(work.report)
            for _ in work.make(backend.work):
                writer.update(work.report)
        finally:
            writer.update(work.report, at_once=True)
        return work.report()


def _place(
    plan: ExperimentPlan, experiment: Experiment, options: BackendOptions, gpus: float
) -> tuple[str, Resources | None]:
    """The device that a run has, and what it takes there."""
    if options.local and experiment.resources is None:
        recipes.choose_device(plan.device)
        return plan.device, None
    return assign_device(plan.device, experiment.resources or Resources(), gpus)


class TableWriter:
    """Rewrites the files of a table when what they show has changed; the date alone is no change."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.next = 0.0

    def update(self, report: Callable[[], Report], at_once: bool = False) -> None:
        """Bring the files up to date, unless the table is slow to render and that was done a short while ago."""
        began = time.monotonic()
        if began < self.next and not at_once:
            return
        for name, text in rendered(report()).items():
            path = self.folder / name
            try:
                before = path.read_text(encoding="utf-8", errors="surrogateescape")
            except OSError:
                before = ""
            if DATE.sub("", before) != DATE.sub("", text):
                store.write_text(path, text)
        ended = time.monotonic()
        self.next = ended + (PATIENCE * (ended - began) if ended - began > QUICK else 0.0)


class _Execution:
    """A plan while its runs are made."""

    def __init__(
        self,
        plan: ExperimentPlan,
        folder: Path,
        options: BackendOptions,
        gpus: float,
        tell: Listener,
        engine: Engine,
    ) -> None:
        self.plan, self.options, self.gpus, self.tell, self.engine = plan, options, gpus, tell, engine
        self.store, self.digests = ResultStore(folder / "runs"), InputDigests(folder / "runs" / "inputs.json")
        self.gold, self.versions, self.noted = GoldCache(self.note), versions(), set[str]()
        self.settings: dict[int, str] = {}
        self.runs: dict[ExperimentKey, FinishedRun] = {}
        self.lost: dict[ExperimentKey, LostRun] = {}
        self.time_left = TimeLeft(experiment.key for experiment in plan.experiments)

    def note(self, text: str) -> None:
        """Tell the reader something, once."""
        if text not in self.noted:
            self.noted.add(text)
            self.tell(Note(text))

    def report(self) -> Report:
        """The table as it is now."""
        return Report(self.plan, dict(self.runs), dict(self.lost))

    def take_up(self) -> None:
        """Find the runs that were finished before and are still true."""
        for experiments, count in (
            (self.plan.experiments, self.time_left.finish),
            (self.plan.others, self.time_left.learn),
        ):
            for experiment in experiments:
                run = self.finished(experiment)
                if run is not None:
                    self.runs[experiment.key] = run
                    count(run)

    def finished(self, experiment: Experiment) -> FinishedRun | None:
        """The kept run, if it was made with the same settings from the same inputs, and saved where it should be."""
        try:
            run = self.store.find(experiment.key)
        except RunError as error:
            self.note(str(error))
            return None
        if run is None or run.provenance.settings != self.settings_of(experiment):
            return None
        inputs, needed = (
            {part: value for part, value in parts.items() if part not in experiment.optional}
            for parts in (run.provenance.inputs, self.inputs(experiment))
        )
        saved = not self.plan.save or "run" in run.score.errors or (run.provenance.saved and self.is_saved(run.key))
        return run if inputs == needed and saved and run.answers(experiment.required) else None

    def settings_of(self, experiment: Experiment) -> str:
        """The digest of the recipe of a run."""
        recipe = experiment.recipe
        if id(recipe) not in self.settings:
            self.settings[id(recipe)] = settings_digest(recipe)
        return self.settings[id(recipe)]

    def inputs(self, experiment: Experiment) -> dict[str, str]:
        """Everything that a run depends on: files by their digest."""
        inputs = {}
        for part, value in experiment.inputs.items():
            if isinstance(value, GoldFile):
                inputs[part] = self.digests.of(value.path) + (
                    (", turned" if value.turned else "") + ("" if value.first is None else f", first {value.first}")
                )
            else:
                inputs[part] = value if isinstance(value, str) else self.digests.of(value)
        return inputs

    def folder_of(self, key: ExperimentKey) -> Path:
        """Where the run folder of a run is saved."""
        return (self.store.folder / key.stem).resolve()

    def is_saved(self, key: ExperimentKey) -> bool:
        """Whether there is a run folder."""
        return (self.folder_of(key) / store.MARK).is_file()

    def make(self, do_jobs: Callable[[Sequence[Job[Runs]]], Iterator[JobEvent[Runs]]]) -> Iterator[None]:
        """Make the runs that are missing; returns to the caller whenever the table may have changed."""
        batches: dict[str, list[Experiment]] = {}
        jobs: list[Job[Runs]] = []
        for experiments in self.batches():
            try:
                job = self.job(experiments)
            except CalqueError as error:
                self.lose(*(LostRun(experiment.key, error, unreadable=True) for experiment in experiments))
                yield
                continue
            batches[job.name] = experiments
            jobs.append(job)
        for event in do_jobs(jobs):
            if isinstance(event, FileMended):
                self.note(event.note)
                continue
            keys = [experiment.key for experiment in batches[event.job.name]]
            if isinstance(event, JobStarted):
                self.time_left.at_once = event.at_once
                seeds = tuple(key.seed for key in keys)
                self.tell(RunStarted(keys[0].method, keys[0].pair, seeds, self.time_left.progress()))
                continue
            if isinstance(event, JobLost):
                if not event.unreadable:
                    self.tell(RunBroken(keys[0], event.error, event.again))
                self.lose(*(LostRun(key, event.error, event.unreadable) for key in keys if not event.again))
            else:
                for run in event.result:
                    self.keep(run, keys)
            yield

    def batches(self) -> Iterator[list[Experiment]]:
        """What is left: one run each, or all seeds of a method on a pair where a GPU can run them together.

        Elsewhere a batch saves nothing, and a kill would lose all of it.
        """
        left = [run for run in in_tiles(self.plan.experiments, self.options.hold) if run.key not in self.runs]
        for _, group in groupby(left, key=lambda run: (run.key.method, run.key.pair)):
            experiments = list(group)
            kind = recipes.METHODS.get(experiments[0].recipe.method)
            if self.plan.together and kind is not None and kind.together is not None and not experiments[0].training:
                device, resources = _place(self.plan, experiments[0], self.options, self.gpus)
                if device == "cuda" or (resources is None and recipes.choose_device(device).type == "cuda"):
                    yield experiments
                    continue
            yield from ([experiment] for experiment in experiments)

    def job(self, experiments: Sequence[Experiment]) -> Job[Runs]:
        """The job that makes a batch, with its gold data; CalqueError if what it learns from cannot be read."""
        first = experiments[0]
        device, resources = _place(self.plan, first, self.options, self.gpus)
        batch = SeedBatch(
            {experiment.key.seed: tuple(self.judges(experiment)) for experiment in experiments},
            first.recipe,
            device,
            self.engine,
            None if first.training is None else self.gold.word_pairs(first.training),
            first.judged,
            {run.key.seed: self.folder_of(run.key) for run in experiments if self.plan.save},
        )
        return Job(
            " ".join(experiment.key.name for experiment in experiments),
            partial(make_runs, batch),
            first.spaces,
            resources,
        )

    def judges(self, experiment: Experiment) -> Iterator[Judges]:
        """The other lexicons that have not judged this alignment yet, then its own."""
        siblings = [sibling for sibling in experiment.siblings if self.finished(sibling) is None]
        for judged in (*siblings, experiment):
            lexicons: dict[str, WordPairs] = {}
            similarities, errors = None, dict[str, str]()
            try:
                lexicons = {direction: self.gold.word_pairs(file) for direction, file in judged.lexicons.items()}
            except LexiconError as error:
                errors = dict.fromkeys(judged.lexicons, str(error))
            if judged.similarity is not None:
                try:
                    similarities = self.gold.similarities(judged.similarity)
                except LexiconError as error:
                    errors["similarity"] = str(error)
            provenance = Provenance(self.settings_of(judged), self.inputs(judged), versions=self.versions)
            yield Judges(judged.key, provenance, lexicons, similarities, judged.texts, errors)

    def keep(self, run: FinishedRun | LostRun, asked: Sequence[ExperimentKey]) -> None:
        """Keep a run that a worker has made."""
        if isinstance(run, LostRun):
            if not run.unreadable:
                self.tell(RunBroken(run.key, run.error))
            self.lose(run)
            return
        if self.plan.save and "run" not in run.score.errors and not self.is_saved(run.key):
            raise SettingsError(
                f"{self.folder_of(run.key)}: was saved by a worker, but is not to be seen from here; "
                "put the output where every node sees it, or leave save = true out of the plan"
            )
        self.store.put(run)
        if run.key in asked:
            self.runs[run.key] = run
            self.time_left.finish(run)
            self.tell(RunEnded(run, self.time_left.progress()))

    def lose(self, *lost: LostRun) -> None:
        """Note that there are no runs, and why; a file that cannot be read is reported once."""
        for run in lost:
            if run.unreadable:
                self.note(str(run))
            self.lost[run.key] = run
