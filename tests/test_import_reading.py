"""What an import keeps in memory of a file: little, however long it is, and however it arrives."""

import io
import json
import tracemalloc
from typing import Any
from uuid import uuid4

import pytest

from documents.importing.identity import Seen
from documents.importing.problems import ImportRefused, Problems
from documents.importing.reading import Reader

MB = 1024 * 1024
ODD: list[dict[str, Any]] = [
    {"title": 'Σύμβαση \U0001f58b "x" \\ [{,}]', "pageCount": 1234567890, "sentAt": None},
    {"recipients": [{"order": -12.5e3, "x": [True, False, None]}, {}], "fileSize": 0},
    {},
    {"title": "\ud800 half", "nested": [[[[]]]], "y": [float("inf"), float("-inf")]},
]


class Trickle(io.BytesIO):
    """A file of which every read gets at most so many bytes, as of a pipe."""

    def __init__(self, content: bytes, most: int) -> None:
        super().__init__(content)
        self.most = most

    def read(self, size: int | None = -1, /) -> bytes:
        return super().read(self.most)


def read(file: io.BytesIO) -> tuple[list[tuple[int, Any]], list[str]]:
    """Each entry with its line, and the problems."""
    problems = Problems()
    entries = [(entry.line, entry.value) for entry in Reader(problems).read(file)]
    try:
        problems.refuse_if_any("file")
    except ImportRefused as exc:
        return entries, str(exc).splitlines()[1:]
    return entries, []


@pytest.mark.parametrize("most", [1, 2, 3, 7, 64])
@pytest.mark.parametrize("ascii", [True, False], ids=["escapes", "UTF-8"])
def test_an_array_is_the_same_wherever_its_pieces_end(most: int, ascii: bool) -> None:
    values = ODD if ascii else ODD[:3]
    parts = [json.dumps(value, ensure_ascii=ascii, indent=1) for value in values]
    lines = [2 + sum(part.count("\n") + 1 for part in parts[:n]) for n in range(len(parts))]
    content = ("[\n" + ",\n".join(parts) + "\n]\n").encode()
    assert read(Trickle(content, most)) == (list(zip(lines, values, strict=True)), [])


@pytest.mark.parametrize("most", [1, 2, 3, 64])
@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b'[\n{"a": 1},\n  {"b": tru}]', "line 3, column 9 is not JSON: Expecting value"),
        (b'[\n{"a": 1} {}]', "line 2, column 10 is not JSON: Expecting ',' or ']'"),
        (b'[\n{"a": 1}, {"b"', "line 2, column 15 is not JSON: Expecting ':' delimiter"),
        (b'[\n{"a": "x\n"}]', "line 2, column 9 is not JSON: Invalid control character at"),
        (b'[\n{"a": "x', "line 2, column 7 is not JSON: Unterminated string starting at"),
        (b"[\n{}\n] {}", "line 3, column 3 is not JSON: something follows its end"),
        (b"[\n{},\n", "line 3, column 1 is not JSON: Expecting value"),
        (b'[\n{"a": 1},\n{"b":\n"\xe9"}]', "line 4, is not UTF-8"),
        (b"[\n{}]\n\xc3", "line 3, is not UTF-8"),
        (b"[\n12345,{}]", "line 2, is not a JSON object"),
    ],
)
def test_what_is_wrong_in_an_array_is_named_wherever_its_pieces_end(
    most: int, content: bytes, problem: str
) -> None:
    assert read(Trickle(content, most))[1] == [problem]


@pytest.mark.parametrize("between", [",", ",\n", "\n"], ids=["one line", "array", "lines"])
def test_of_a_long_file_little_is_in_memory(between: str) -> None:
    text = between.join(json.dumps({"number": n, "title": "x" * 10_000}) for n in range(1_000))
    file = io.BytesIO((text if between == "\n" else f"[{text}]").encode())
    del text
    tracemalloc.start()
    try:
        for number, entry in enumerate(Reader(Problems()).read(file)):
            assert entry.value["number"] == number
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert number == 999
    assert peak < 3 * MB


def test_ids_that_a_file_has_stated_are_not_in_memory() -> None:
    seen, first = Seen(), uuid4().bytes
    tracemalloc.start()
    try:
        assert seen.note(first, 1) is None
        assert all(seen.note(uuid4().bytes, line) is None for line in range(2, 5_000))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < MB / 20
    assert seen.note(first, 5_000) == 1
    seen.close()
