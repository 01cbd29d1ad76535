"""`calque translate`: look words up in a run. It does not import torch unless the question needs all of the run."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from tyro.conf import Positional, arg

from calque.cli.common import DONE, WRONG_INPUT, Common, File, Pair, Run, open_alignment, warn_unless_aligned
from calque.cli.terminal import print_json
from calque.errors import FormatError, SettingsError, UnknownWordError

if TYPE_CHECKING:
    from calque.runs.alignment import Alignment
    from calque.runs.lookup import Lookup, Translation


@dataclass(frozen=True, kw_only=True)
class Translate(Common):
    """Translate words with a run."""

    folder: Run
    """A run folder."""
    words: Annotated[Positional[tuple[str, ...]], arg(metavar="WORD")]
    """Words to translate, or phrases such as 'casa blanca'; '-' reads them from stdin, one a line."""
    k: int = 5
    """How many translations to show."""
    back: bool = False
    """From the target language to the source."""
    retrieval: str = "csls"
    """nn, csls or isf."""
    pair: Pair = ""
    """Which two languages, of a run that 'calque align-many' made."""
    vectors: File = None
    """A fastText .bin of the language asked, for words that the run has not seen."""

    def run(self) -> int:
        """Translate the known words; name the unknown ones, of which the exit code tells too."""
        from calque.runs.lookup import AT_ONCE, Lookup, parts

        if self.words == ("-",) and sys.stdin is None:
            raise SettingsError("'-' reads words from stdin, which is closed; name the words, or send them to stdin")
        lines = [line.rstrip("\r\n") for line in sys.stdin] if self.words == ("-",) else self.words
        words = [word for word in lines if word]
        if not words:
            raise SettingsError("no word to translate was given; name some, or '-' to read them from stdin")
        run = open_run(self)
        side = "target" if self.back else "source"
        known = run.index[side] if isinstance(run, Lookup) else run.spaces(self.back)[0]
        translations: list[Translation] = []
        unknown: list[str] = []
        for begin in range(0, len(words), AT_ONCE):
            for result in translate(self, run, words[begin : begin + AT_ONCE]):
                if isinstance(result, str):
                    unknown.append(result)
                else:
                    translations.append(result)
        for phrase in (one.word for one in translations if len(parts(one.word, known)) > 1):
            self.say(f"{phrase!r} is no word of the run: translated by the mean of its words")
        if self.json:
            by_word = {
                translation.word: [
                    {"word": candidate.word, "score": candidate.score} for candidate in translation.candidates
                ]
                for translation in translations
            }
            print_json({"translations": by_word, "unknown": unknown})
        else:
            for translation in translations:
                shown = "  ".join(f"{candidate.word} {candidate.score:.3f}" for candidate in translation.candidates)
                tab = r"\t"  # a tab inside a word would look like the end of a column
                word, shown = (text.replace("\t", tab) for text in (translation.word, shown))
                print(f"{word}\t{shown}")
        return WRONG_INPUT if unknown else DONE


def open_run(command: Translate) -> Lookup | Alignment:
    """The run, as lightly as the question allows: unseen words and some retrievals need all of it."""
    from calque.runs.lookup import SCALES, Lookup

    if command.vectors is None and command.retrieval in SCALES and not command.pair:
        lookup = Lookup.open(command.folder)
        warn_unless_aligned(command, lookup.verdict)
        return lookup
    alignment = open_alignment(command.folder, command.pair)
    warn_unless_aligned(command, str(alignment.verdict))
    if command.vectors is None:
        return alignment
    from calque.data.formats import read

    space = read(command.vectors, limit=1, cache=False).space
    if space.subwords is None:
        raise FormatError(f"{command.vectors}: makes no vectors for unseen words; expected a fastText .bin")
    return alignment.with_subwords(space, command.back)


def translate(command: Translate, run: Lookup | Alignment, words: list[str]) -> Iterator[Translation | str]:
    """The translation of each word, or the word itself where it is unknown.

    All at once, which is faster; where one of several is unknown, one after the other.
    """
    try:
        yield from run.translate(words, command.k, command.back, command.retrieval)
    except UnknownWordError as error:
        if len(words) > 1:
            for word in words:
                yield from translate(command, run, [word])
            return
        print(f"calque: {error}", file=sys.stderr)
        yield words[0]
