"""Every method by name, and every recipe: a method with its settings."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from calque.methods.baselines.conneau2017 import Conneau2017Settings, conneau2017
from calque.methods.baselines.joulin2018 import Joulin2018Settings, joulin2018
from calque.methods.baselines.known_pairs import (
    Artetxe2016Settings,
    Mikolov2013Settings,
    Shigeto2015Settings,
    Xing2015Settings,
    Zhang2016Settings,
    artetxe2016,
    mikolov2013,
    shigeto2015,
    xing2015,
    zhang2016,
)
from calque.methods.baselines.self_learning import Artetxe2017Settings, Artetxe2018Settings, artetxe2017, artetxe2018
from calque.methods.baselines.zhang2017 import Zhang2017Settings, zhang2017
from calque.methods.default.coarse_to_fine import CoarseToFineSettings, coarse_to_fine
from calque.methods.paper.method import PaperSettings, paper, paper_together
from calque.methods.task import Method, Outcome, Task


@dataclass(frozen=True)
class Kind:
    """A method, the type of its settings, and what it needs."""

    method: Method
    settings: type
    supervised: bool = False
    """Whether it learns from word pairs; no other method is ever shown any."""
    together: Callable[[Sequence[Task], Any], list[Outcome]] | None = None
    """Many tasks that differ in their seed alone, as one batch, where the method can."""
    resumes: bool = False
    """Whether it leaves its state at checkpoints, and goes on from there."""


METHODS = {
    "coarse-to-fine": Kind(coarse_to_fine, CoarseToFineSettings),
    "paper": Kind(paper, PaperSettings, together=paper_together, resumes=True),
    "mikolov2013": Kind(mikolov2013, Mikolov2013Settings, supervised=True),
    "zhang2016": Kind(zhang2016, Zhang2016Settings, supervised=True),
    "xing2015": Kind(xing2015, Xing2015Settings, supervised=True),
    "shigeto2015": Kind(shigeto2015, Shigeto2015Settings, supervised=True),
    "artetxe2016": Kind(artetxe2016, Artetxe2016Settings, supervised=True),
    "artetxe2017": Kind(artetxe2017, Artetxe2017Settings, supervised=True),
    "joulin2018": Kind(joulin2018, Joulin2018Settings, supervised=True),
    "conneau2017": Kind(conneau2017, Conneau2017Settings),
    "zhang2017": Kind(zhang2017, Zhang2017Settings),
    "artetxe2018": Kind(artetxe2018, Artetxe2018Settings),
}
"""Every method by name."""


@dataclass(frozen=True)
class Recipe:
    """A method, all of its settings, and what to say of it."""

    name: str
    method: str
    settings: Any
    summary: str
    published: str = ""
    """Where the method is described."""

    @property
    def supervised(self) -> bool:
        """Whether it learns from word pairs, and so needs a lexicon."""
        return self.method in METHODS and METHODS[self.method].supervised

    @property
    def resumes(self) -> bool:
        """Whether it can go on from a checkpoint."""
        return self.method in METHODS and METHODS[self.method].resumes


_PUBLISHED = (
    (
        "default",
        "coarse search from many starts, alternation of plan and map, refinement, contrast with rivals",
        "after Xu, Yang, Otani, Wu 2018 (the objective) and Artetxe, Labaka, Agirre 2018 (profiles, re-weighting)",
    ),
    (
        "paper",
        "Wasserstein GAN, then Sinkhorn distances and back-translation by gradient descent",
        "Xu, Yang, Otani, Wu 2018, Unsupervised Cross-lingual Transfer of Word Embedding Spaces",
    ),
    (
        "mikolov2013",
        "least squares, source to target",
        "Mikolov, Le, Sutskever 2013, Exploiting Similarities among Languages for Machine Translation",
    ),
    (
        "zhang2016",
        "orthogonal map",
        "Zhang, Gaddy, Barzilay, Jaakkola 2016, Ten Pairs to Tag: Multilingual POS Tagging via Coarse Mapping",
    ),
    (
        "xing2015",
        "unit vectors, orthogonal map",
        "Xing, Wang, Liu, Lin 2015, Normalized Word Embedding and Orthogonal Transform for Bilingual Word Translation",
    ),
    (
        "shigeto2015",
        "ridge regression, target to source",
        "Shigeto, Suzuki, Hara, Shimbo, Matsumoto 2015, Ridge Regression, Hubness, and Zero-Shot Learning",
    ),
    (
        "artetxe2016",
        "unit vectors, centred, orthogonal map",
        "Artetxe, Labaka, Agirre 2016, Learning Principled Bilingual Mappings of Word Embeddings",
    ),
    (
        "artetxe2017",
        "orthogonal map and dictionary in turn, from a small dictionary",
        "Artetxe, Labaka, Agirre 2017, Learning Bilingual Word Embeddings with (Almost) No Bilingual Data",
    ),
    (
        "joulin2018",
        "relaxed CSLS as the loss (RCSLS)",
        "Joulin, Bojanowski, Mikolov, Jégou, Grave 2018, Loss in Translation",
    ),
    (
        "conneau2017",
        "adversarial with a discriminator, then Procrustes on CSLS pairs",
        "Conneau, Lample, Ranzato, Denoyer, Jégou 2017, Word Translation Without Parallel Data",
    ),
    (
        "zhang2017",
        "adversarial autoencoder",
        "Zhang, Liu, Luan, Sun 2017, Adversarial Training for Unsupervised Bilingual Lexicon Induction",
    ),
    (
        "artetxe2018",
        "similarity profiles, stochastic self-learning, symmetric re-weighting",
        "Artetxe, Labaka, Agirre 2018, A Robust Self-Learning Method for Fully Unsupervised Cross-Lingual Mappings",
    ),
)

RECIPES = {
    name: Recipe(name, method, METHODS[method].settings(), summary, published)
    for name, summary, published in _PUBLISHED
    for method in ["coarse-to-fine" if name == "default" else name]
}
"""Every recipe by name."""
