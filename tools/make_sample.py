"""Make the sample that ships with calque: Portuguese and English vectors, and a lexicon to judge by.

Everything comes from three Debian packages of LibreOffice (MPL-2.0): its help in two languages, and its Portuguese
message catalogues. The two texts are translations of each other, but no sentence, page or word of one is paired with
the other when the vectors are trained. Only the lexicon pairs them, and no aligner sees the lexicon.

    apt-get update
    python tools/make_sample.py --work build/sample --output src/calque/sample
"""

from __future__ import annotations

import argparse
import gettext
import gzip
import re
import subprocess
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path
from typing import NamedTuple

import numpy as np
from gensim.models import Word2Vec
from numpy.typing import NDArray

VERSION = "4:7.4.7-1+deb12u14"
CATALOGUES = ("libreoffice-l10n-pt-br", "usr/lib/libreoffice/program/resource/pt_BR/LC_MESSAGES")


class Manual(NamedTuple):
    """Where the help of one language lies."""

    language: str
    package: str
    folder: str


PORTUGUESE = Manual("pt", "libreoffice-help-pt-br", "usr/share/libreoffice/help/pt-BR/text")
ENGLISH = Manual("en", "libreoffice-help-en-us", "usr/share/libreoffice/help/en-US/text")


@dataclass(frozen=True)
class Training:
    """How the vectors of one language are trained: skip-gram with negative samples."""

    dimension: int = 100
    window: int = 15
    negative: int = 15
    epochs: int = 15
    sample: float = 1e-4
    rarest: int = 3
    largest: int = 8000
    seed: int = 1


class Message(NamedTuple):
    """One text of the program and its translation."""

    english: str
    translated: str


class Vectors(NamedTuple):
    """Words, most frequent first, with their vectors and how often each was seen."""

    words: list[str]
    rows: NDArray[np.float32]
    counts: list[int]


class Page(HTMLParser):
    """The passages of one help page (paragraphs, headings, table cells), without navigation, footer or program code."""

    blocks = frozenset({"p", "h1", "h2", "h3", "h4", "h5", "h6", "li", "td", "th", "div", "br", "pre"})
    code = frozenset({"code", "codeintable", "smathcode", "literal", "input"})

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.passages: list[str] = []
        self._pieces: list[str] = []
        self._inside = False
        self._skipped: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Start a passage at a block, and start skipping at code and at text for other systems."""
        values = dict(attrs)
        if values.get("id") in ("DisplayArea", "SearchFrame"):
            self._end_passage()
            self._inside = values["id"] == "DisplayArea"
        if tag in self.blocks:
            self._end_passage()
        if self._is_skipped(tag, values):
            self._skipped.append(tag)
            self._pieces.append(" ")

    def _is_skipped(self, tag: str, values: Mapping[str, str | None]) -> bool:
        if self._skipped:
            return tag == self._skipped[-1]
        classes = (values.get("class") or "").split()
        return tag in ("script", "style", "pre") or "hidden" in values or not self.code.isdisjoint(classes)

    def handle_endtag(self, tag: str) -> None:
        """End the passage, or what was skipped."""
        if self._skipped and tag == self._skipped[-1]:
            self._skipped.pop()
        if tag in self.blocks:
            self._end_passage()

    def handle_data(self, data: str) -> None:
        """Collect text."""
        if self._inside and not self._skipped:
            self._pieces.append(data)

    def _end_passage(self) -> None:
        text = " ".join("".join(self._pieces).split())
        if text:
            self.passages.append(text)
        self._pieces = []


def fetch(package: str, version: str, work: Path) -> Path:
    """Download and unpack one Debian package, once; return the folder it is unpacked in."""
    folder = work / f"{package}_{version}"
    if not folder.exists():
        work.mkdir(parents=True, exist_ok=True)
        subprocess.run(["apt-get", "download", f"{package}={version}"], cwd=work, check=True)
        archive = next(work.glob(f"{package}_*{version.partition(':')[2]}_*.deb"))
        beside = folder.with_name(folder.name + ".part")
        subprocess.run(["dpkg-deb", "-x", str(archive), str(beside)], check=True)
        beside.rename(folder)
    return folder


def read_manual(folder: Path) -> list[str]:
    """All passages of a manual, page after page."""
    return [passage for path in sorted(folder.rglob("*.html")) for passage in read_page(path)]


def read_page(path: Path) -> list[str]:
    """The passages of one page."""
    page = Page()
    page.feed(path.read_text(encoding="utf-8"))
    page.close()
    return page.passages


def read_messages(folder: Path) -> Iterator[Message]:
    """All messages of the catalogues in a folder, without the marks of keyboard accelerators."""
    for path in sorted(folder.glob("*.mo")):
        with path.open("rb") as file:
            # The module gettext can look a message up but has no public way to list them.
            catalogue = vars(gettext.GNUTranslations(file))["_catalog"]
        for key, translated in catalogue.items():
            context_and_english = key[0] if isinstance(key, tuple) else key
            english = context_and_english.rpartition("\x04")[2]
            if english:
                yield Message(strip_accelerator(english), strip_accelerator(translated))


def strip_accelerator(text: str) -> str:
    """Remove the marks that underline a letter in a menu: "E_xit" is "Exit"."""
    return re.sub("[~_&]", "", text)


def tokenize(text: str) -> list[str]:
    """Runs of letters, in lower case."""
    return re.findall(r"[^\W\d_]+", text.lower())


def drop_untranslated(texts: Iterable[str], english: Iterable[str]) -> Iterator[str]:
    """Leave out what the translators left in English; one or two words may well be right in both."""
    known = set(english)
    return (text for text in texts if text not in known or len(tokenize(text)) < 3)


def make_corpus(texts: Iterable[str]) -> list[list[str]]:
    """The words of every text, each text once: notes and menu paths recur on hundreds of pages."""
    once = dict.fromkeys(tuple(tokenize(text)) for text in texts)
    return [list(words) for words in once if words]


def hash_word(word: str) -> int:
    """A hash that, unlike Python's own, is the same in every process."""
    return zlib.crc32(word.encode())


def train(corpus: list[list[str]], settings: Training) -> Vectors:
    """Train the vectors of one language; one thread, so that the answer is always the same."""
    model = Word2Vec(
        corpus,
        sg=1,
        vector_size=settings.dimension,
        window=settings.window,
        negative=settings.negative,
        epochs=settings.epochs,
        sample=settings.sample,
        min_count=settings.rarest,
        seed=settings.seed,
        hashfxn=hash_word,
        workers=1,
    )
    words = list(model.wv.index_to_key[: settings.largest])
    counts = [int(model.wv.get_vecattr(word, "count")) for word in words]
    return Vectors(words, model.wv.vectors[: len(words)], counts)


def only_word(text: str) -> str | None:
    """The word of a text that is one plain word, with or without punctuation around it.

    Words in capitals or with a capital inside are names of functions ("SUMIF", "MsgBox"): none of ours.
    """
    match = re.fullmatch(r"[\W\d_]*([^\W\d_]{2,})[\W\d_]*", text)
    if match is None or match[1][1:] != match[1][1:].lower():
        return None
    return match[1].lower()


def make_lexicon(messages: Iterable[Message], source: Iterable[str], target: Iterable[str]) -> list[tuple[str, str]]:
    """The messages of one word that both vocabularies have, most frequent source word first.

    A word that is its own translation is mostly a name left as it was, so such a pair stays only beside another
    translation of the same word.
    """
    ranks = {word: rank for rank, word in enumerate(source)}
    known = set(target)
    words = {(only_word(message.translated), only_word(message.english)) for message in messages}
    entries = [(a, b) for a, b in words if a is not None and b is not None and a in ranks and b in known]
    translated = {a for a, b in entries if a != b}
    return sorted((pair for pair in entries if pair[0] in translated), key=lambda pair: (ranks[pair[0]], pair[1]))


def write_whole(path: Path, content: bytes) -> None:
    """Write a file beside its place and move it there, so that it appears whole."""
    beside = path.with_name(path.name + ".part")
    beside.write_bytes(content)
    beside.replace(path)


def write_vectors(folder: Path, language: str, vectors: Vectors) -> None:
    """Write the vectors as word2vec text, three decimals, and the counts beside them."""
    lines = [f"{len(vectors.words)} {vectors.rows.shape[1]}"]
    lines += [f"{word} {format_row(row)}" for word, row in zip(vectors.words, vectors.rows, strict=True)]
    text = "\n".join(lines) + "\n"
    write_whole(folder / f"{language}.vec.gz", gzip.compress(text.encode(), compresslevel=9, mtime=0))
    counts = (f"{word} {count}\n" for word, count in zip(vectors.words, vectors.counts, strict=True))
    write_whole(folder / f"{language}.counts.txt", "".join(counts).encode())


def format_row(row: NDArray[np.float32]) -> str:
    """Values with at most three decimals and no zeros at the end: "0.25" and "-1.5"."""
    return " ".join(np.format_float_positional(value, precision=3, trim="-") for value in row)


def make_sample(work: Path, output: Path, version: str) -> None:
    """Fetch, read, train and write everything."""
    catalogues = fetch(CATALOGUES[0], version, work) / CATALOGUES[1]
    messages = list(read_messages(catalogues))
    source, target = (read_manual(fetch(m.package, version, work) / m.folder) for m in (PORTUGUESE, ENGLISH))
    english = target + [message.english for message in messages]
    portuguese = source + [message.translated for message in messages]
    output.mkdir(parents=True, exist_ok=True)
    portuguese_words = train_and_write(drop_untranslated(portuguese, english), PORTUGUESE.language, output)
    english_words = train_and_write(english, ENGLISH.language, output)
    lexicon = make_lexicon(messages, portuguese_words, english_words)
    name = f"{PORTUGUESE.language}-{ENGLISH.language}.tsv"
    write_whole(output / name, "".join(f"{a}\t{b}\n" for a, b in lexicon).encode())
    print(f"{name}: {len(lexicon)} pairs, {len({a for a, _ in lexicon})} source words")


def train_and_write(texts: Iterable[str], language: str, output: Path) -> list[str]:
    """Train one language, write its files, say how large it was, and return its words."""
    corpus = make_corpus(texts)
    vectors = train(corpus, Training())
    write_vectors(output, language, vectors)
    tokens = sum(map(len, corpus))
    print(f"{language}: {tokens} tokens in {len(corpus)} texts, {len(vectors.words)} words")
    return vectors.words


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, required=True, help="folder for downloaded packages")
    parser.add_argument("--output", type=Path, required=True, help="folder to write the sample to")
    parser.add_argument("--version", default=VERSION, help=f"version of the packages (default: {VERSION})")
    arguments = parser.parse_args()
    make_sample(arguments.work, arguments.output, arguments.version)


if __name__ == "__main__":
    main()
