"""Files by the names that README and docs give them: the shipped sample, and four small languages of one shape.

es.bin is a fastText model of invented words, es.vec its vectors as text; the other languages are blurred copies of it,
each turned otherwise, so that word i of one is word i of every other.
"""

from __future__ import annotations

import itertools
import shutil
from pathlib import Path

import numpy as np
from blocks import blocks

from calque.data.formats import load, write
from calque.data.space import Space

ROOT = Path(__file__).parents[2]
SAMPLE = ROOT / "src" / "calque" / "sample"
DIMENSION, BLUR = 16, 0.1
STEMS = (
    "cas perr gat mes sill libr pap agu fueg tierr luz noch dia sol lun man pie ojo boc nariz calle ciud puert vent "
    "coch tren avion barc mar rio mont bosq flor arbol fruta pan queso vino sal azuc"
)
ENDS = "a o os ero era ito ita ote al ado ada ar ando ido ez ura ismo"


def make(folder: Path) -> None:
    """All files, once; pages work in copies."""
    _sample(folder)
    _languages(folder)
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]:
        for each in blocks(page.read_text(encoding="utf-8")):
            name = each.text.split("\n")[0].removeprefix("# ").split(":")[0]
            if each.language == "toml" and name.endswith(".toml"):
                (folder / name).write_text(each.text)
    (folder / "mine.toml").write_text('base = "default"\nname = "mine"\n[settings.contrast]\nsteps = 5\n')


def _sample(folder: Path) -> None:
    for name in ("pt.vec.gz", "en.vec.gz"):
        shutil.copy(SAMPLE / name, folder / name)
    (folder / "src").symlink_to(ROOT / "src")


def _languages(folder: Path) -> None:
    from gensim.models.fasttext import FastText, save_facebook_model

    words = [stem + end for end, stem in itertools.product(ENDS.split(), STEMS.split())]
    model = FastText(vector_size=DIMENSION, min_count=1, bucket=20_000, workers=1, seed=1)
    model.build_vocab_from_freq({word: 10_000 // (rank + 1) + len(words) - rank for rank, word in enumerate(words)})
    save_facebook_model(model, str(folder / "es.bin"))
    spanish = load(folder / "es.bin")
    chance = np.random.default_rng(0)
    vectors = spanish.vectors.numpy()
    (folder / "vectors").mkdir()
    for name in ("es", "en", "de", "it"):
        turn = np.eye(DIMENSION) if name == "es" else np.linalg.qr(chance.normal(size=(DIMENSION, DIMENSION)))[0]
        blur = 0 if name == "es" else BLUR * vectors.std() * chance.normal(size=vectors.shape)
        spelled = spanish.words if name == "es" else [f"{name}{word}" for word in spanish.words]
        write(Space.of(spelled, (vectors @ turn + blur).astype("float32")), folder / f"{name}.vec")
        shutil.copy(folder / f"{name}.vec", folder / "vectors" / f"wiki.{name}.vec")
        counts = zip(spelled, spanish.counts.tolist(), strict=True)
        (folder / f"{name}.freq").write_text("".join(f"{word} {count:.0f}\n" for word, count in counts))
    for one, other in (("es", "en"), ("de", "en"), ("es", "de")):
        pairs = [tuple(word if name == "es" else name + word for name in (one, other)) for word in spanish.words]
        for name, some in (("", pairs[200:]), (".train", pairs[:200])):
            text = "".join(f"{source}\t{target}\n" for source, target in some)
            (folder / f"{one}-{other}{name}.tsv").write_text(text)
