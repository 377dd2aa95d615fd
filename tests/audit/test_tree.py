"""The Merkle tree's hashes and the format of checkpoints, compared with other implementations."""

import base64
import io
import re
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.sealing import tree as merkle
from audit.sealing.keys import NoteError, PrivateKey, PublicKey
from audit.sealing.note import Horizon, Statement, read_notes
from audit.sealing.tree import Frontier
from audit.sealing.witnesses import AppendedFile

# The leaves and roots that Certificate Transparency's implementations are tested with.
LEAVES = [
    b"",
    b"\x00",
    b"\x10",
    b"\x20\x21",
    b"\x30\x31",
    b"\x40\x41\x42\x43",
    bytes(range(0x50, 0x58)),
    bytes(range(0x60, 0x70)),
]
ROOTS = [
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
    "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
    "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
    "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
    "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
    "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
    "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
]
KEY = PrivateKey.generate("documents.example.com/audit")
SEALED_AT, HORIZON = datetime(2026, 3, 1, 9, 30, tzinfo=UTC), Horizon(12, 15, 9001)
STATEMENT = Statement(KEY.name, 8, bytes.fromhex(ROOTS[8]), SEALED_AT, HORIZON)


def hashes(size: int) -> list[bytes]:
    return [merkle.leaf_hash(b"%d" % number) for number in range(size)]


def complete(leaves: list[bytes]) -> Callable[[int, int], bytes]:
    """The hash of a complete subtree, by RFC 9162's definition."""

    def root(start: int, stop: int) -> bytes:
        if stop - start == 1:
            return leaves[start]
        middle = start + merkle.split(stop - start)
        return merkle.node_hash(root(start, middle), root(middle, stop))

    return root


def test_roots_are_those_of_the_published_test_vectors() -> None:
    tree = Frontier()
    assert tree.root().hex() == ROOTS[0]
    for leaf, root in zip(LEAVES, ROOTS[1:], strict=True):
        tree.append(merkle.leaf_hash(leaf))
        assert tree.root().hex() == root


@given(st.integers(0, 700))
def test_a_tree_can_be_continued_from_its_complete_subtrees(size: int) -> None:
    leaves = hashes(size + 1)
    tree = Frontier()
    for leaf in leaves[:size]:
        tree.append(leaf)
    stored = merkle.StoredTree()
    stored.complete = complete(leaves)  # type: ignore[assignment]
    again = stored.frontier(size)
    assert again.root() == tree.root()
    assert again.append(leaves[size]) == tree.append(leaves[size])
    assert again.root() == tree.root()


def test_checkpoint_is_a_note_that_its_key_opens() -> None:
    note = KEY.sign(STATEMENT.text())
    assert note.splitlines()[:-1] == [
        "documents.example.com/audit",
        "8",
        base64.b64encode(bytes.fromhex(ROOTS[8])).decode(),
        "sealed at 2026-03-01T09:30:00Z",
        "complete to 12, then to 15 from transaction 9001",
        "",
    ]
    assert note.splitlines()[-1].startswith("— documents.example.com/audit ")
    assert Statement.opened(note, [KEY.public]) == STATEMENT


@pytest.mark.parametrize("number", ["8", "12", "9001"])
def test_a_checkpoint_with_a_number_that_python_does_not_read_is_none(number: str) -> None:
    note = KEY.sign(STATEMENT.text())
    with pytest.raises(NoteError, match="this is no checkpoint"):
        Statement.unchecked(re.sub(rf"(?m)\b{number}\b", "9" * 5000, note))


def test_keys_are_read_as_they_are_written() -> None:
    assert PrivateKey.parse(KEY.encode()) == KEY
    _, _, _, _, secret = KEY.encode().split("+", 4)  # in which there may be further ones
    assert secret not in repr(KEY) + str(KEY)
    assert PublicKey.parse(str(KEY.public)) == KEY.public


def test_a_malformed_key_is_refused() -> None:
    for text in (
        "",
        "name+00000000+AAAA",
        "+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW",
        "PeterNeumann+c74f20a4+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW",
        "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10T",
    ):
        with pytest.raises(NoteError):
            PublicKey.parse(text)
        with pytest.raises(NoteError):
            PrivateKey.parse(f"PRIVATE+KEY+{text}")


@given(st.data())
def test_a_note_with_another_character_is_refused(data: st.DataObject) -> None:
    note = KEY.sign(STATEMENT.text())
    position = data.draw(st.integers(0, len(note) - 1))
    character = data.draw(st.characters(exclude_categories=["Cs"]))
    changed = note[:position] + character + note[position + 1 :]
    if changed != note:
        with pytest.raises(NoteError):
            Statement.opened(changed, [KEY.public])


def test_a_checkpoint_that_was_cut_short_is_skipped(tmp_path: Path) -> None:
    note = KEY.sign(STATEMENT.text())
    file = tmp_path / "checkpoints"
    for length in range(0, len(note.encode()) - 1, 7):
        file.write_bytes(note.encode() + note.encode()[:length])
        assert list(read_notes(io.StringIO(file.read_text(errors="replace")))) == [note]
        AppendedFile(file).publish(note)
        assert list(read_notes(io.StringIO(file.read_text(errors="replace")))) == [note, note]
