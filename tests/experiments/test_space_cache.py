from __future__ import annotations

import pickle

import torch
from hypothesis import given
from hypothesis import strategies as st

from calque.data.space import Space
from calque.experiments.jobs import SpaceFile
from calque.experiments.space_cache import LoadedSpace, SpaceCache, pack, unpack

LETTERS = st.characters(exclude_categories=["Cs"], exclude_characters="\n") | st.sampled_from("\udc80\udcff")
"""Whatever a word may hold: all but line feeds, with bytes that were not UTF-8."""
words = st.lists(st.text(LETTERS, min_size=1, max_size=4), min_size=1, max_size=6, unique=True)


@given(words, st.booleans())
def test_a_packed_space_comes_back_bit_by_bit(names, counted):
    vectors = torch.randn(len(names), 3, generator=torch.Generator().manual_seed(0))
    counts = torch.arange(1.0, len(names) + 1, dtype=torch.float64) if counted else None
    space = Space(tuple(names), vectors, counts, "name")
    back = unpack(pickle.loads(pickle.dumps(pack(LoadedSpace(space, ("a note",))))))
    assert (back.words, back.name) == (space.words, "name")
    assert torch.equal(back.vectors, vectors)
    assert (back.counts is None) == (counts is None)
    assert counts is None or torch.equal(back.counts, counts)


class TestSpaceCache:
    def make(self, needs, hold=None):
        fetched = []
        return SpaceCache(lambda file: fetched.append(file.path) or file.path.upper(), needs, hold), fetched

    def test_fetched_once_and_put_away_when_nobody_wants_it(self):
        a, b, c = (SpaceFile(name) for name in "abc")
        needs = [(a, b), (a, c)]
        cache, fetched = self.make(needs)
        assert cache.take(needs[0]) == ["A", "B"]
        cache.finished(needs[0])
        assert list(cache.values) == [a]
        assert cache.take(needs[1]) == ["A", "C"]
        cache.finished(needs[1])
        assert (list(cache.values), fetched) == ([], ["a", "b", "c"])

    def test_where_few_are_held_the_one_wanted_last_goes_first(self):
        a, b, c = (SpaceFile(name) for name in "abc")
        needs = [(a, b), (a, c), (c, b), (a, b)]
        cache, fetched = self.make(needs, hold=2)
        for each, values in zip(needs, [["A", "B"], ["A", "C"], ["C", "B"], ["A", "B"]], strict=True):
            assert cache.take(each) == values
            cache.finished(each)
        assert fetched == ["a", "b", "c", "b", "a"]

    def test_a_job_has_all_it_needs_however_few_are_held(self):
        files = tuple(SpaceFile(name) for name in "abc")
        cache, _ = self.make([files], hold=2)
        assert cache.take(files) == ["A", "B", "C"]
