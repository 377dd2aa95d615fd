#!/usr/bin/env python3
# /// script
# requires-python = ">=3.11"
# dependencies = ["cryptography"]
# ///
"""Checks the evidence file of a document, offline, with only the service's public key.

It needs Python 3.11 or newer and one package: pip install cryptography

Do not copy the public key from the evidence file: get it from the service, from a contract, or
from a witness. The exit status is 0 if the file is valid, 1 if it is not, and 3 if there is nothing
to prove: the file has no sealed entry. The checks: the checkpoint is signed with the key (C2SP
signed-note, Ed25519), and each entry, as canonical JSON (RFC 8785), is in the tree of that
checkpoint (RFC 9162, section 2.1.3.2).
"""

import argparse
import base64
import hashlib
import json
import os
import re
import sys
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

try:
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
except ImportError:
    sys.exit("This program needs one more package. Install it with: pip install cryptography")

FORMAT = "document-evidence/1"
ED25519 = b"\x01"  # the number of the algorithm
NOTHING = 3  # exit status

# The entries that name a file of the document, by `file_type` and `file_sha256`.
STORED, DOWNLOADED = "document.file_imported", "document.downloaded"


class NotValid(Exception):
    """Why the file proves nothing, as a sentence."""


@dataclass(frozen=True)
class Key:
    """The public key."""

    name: str
    raw: bytes

    @property
    def id(self) -> bytes:
        return hashlib.sha256(f"{self.name}\n".encode() + ED25519 + self.raw).digest()[:4]

    @classmethod
    def parse(cls, text: str) -> "Key":
        """Reads NAME+HASH+KEY; the hash finds typing errors."""
        name, _, rest = text.strip().partition("+")
        shown, _, encoded = rest.partition("+")
        decoded = decode(encoded, 33)
        key = cls(name, (decoded or b"")[1:])
        if decoded is None or decoded[:1] != ED25519 or key.id.hex() != shown:
            raise argparse.ArgumentTypeError(
                "This is not a public key NAME+HASH+KEY, or a character of it is wrong."
            )
        return key


@dataclass(frozen=True)
class Checkpoint:
    """What was signed: at this time the log had so many entries, and its tree this root."""

    log: str
    size: int
    root: bytes
    time: str

    @classmethod
    def open(cls, note: str, key: Key) -> "Checkpoint":
        """Reads a note that the key has signed."""
        text, _, signatures = note.rpartition("\n\n")
        if not is_signed(f"{text}\n", signatures, key):
            raise NotValid("The checkpoint is not signed with this public key, or was changed.")
        lines = text.split("\n")
        unreadable = NotValid("The checkpoint is signed, but this program cannot read it.")
        try:  # other lines may follow
            size, root = int(lines[1]), decode(lines[2], 32)
            sealed_at = datetime.fromisoformat(lines[3].removeprefix("sealed at "))
        except (IndexError, ValueError) as exc:
            raise unreadable from exc
        if root is None:
            raise unreadable
        return cls(lines[0], size, root, f"{sealed_at:%Y-%m-%d %H:%M:%S} UTC")


def decode(text: object, length: int) -> bytes | None:
    """The bytes of base64, in the only spelling that they have; None if it is anything else."""
    try:
        found = base64.b64decode(str(text), validate=True)
    except ValueError:
        return None
    return found if len(found) == length and base64.b64encode(found).decode() == text else None


def is_signed(text: str, signatures: str, key: Key) -> bool:
    """Whether one of the lines is the key's signature of the text."""
    *lines, after = signatures.split("\n")
    for line in lines if not after else []:
        name, _, encoded = line.rpartition(" ")
        signed = decode(encoded, 68)
        if name != f"— {key.name}" or signed is None or signed[:4] != key.id:
            continue
        try:
            Ed25519PublicKey.from_public_bytes(key.raw).verify(signed[4:], text.encode())
        except (ValueError, InvalidSignature):
            continue
        return True
    return False


def root_of(leaf: bytes, index: int, size: int, proof: list[bytes]) -> bytes | None:
    """The root of the tree that a proof leads to; None if the proof has the wrong length."""
    node, last, root = index, size - 1, leaf
    for sibling in proof:
        if last == 0:
            return None
        if node & 1 or node == last:
            root = hashlib.sha256(b"\x01" + sibling + root).digest()
            while node and not node & 1:
                node, last = node >> 1, last >> 1
        else:
            root = hashlib.sha256(b"\x01" + root + sibling).digest()
        node, last = node >> 1, last >> 1
    return root if last == 0 else None


def without_repetition(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object; a reader could see another one of two values than this program."""
    found = dict(pairs)
    if len(found) != len(pairs):
        raise NotValid("An object in the file has the same name twice.")
    return found


def read(path: Path) -> dict[str, Any]:
    """The evidence file."""
    try:
        found = json.loads(path.read_bytes(), object_pairs_hook=without_repetition)
    except OSError as exc:
        raise NotValid(f"{path} cannot be read: {exc.strerror}.") from exc
    except (ValueError, RecursionError) as exc:
        raise NotValid(f"{path} is not JSON; perhaps it was cut off.") from exc
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        raise NotValid(f'{path} is not a file of the format "{FORMAT}".')
    texts, lists = ("document_id", "checkpoint"), ("files", "entries", "unsealed")
    for name in (*texts, *lists):
        if not isinstance(found.get(name), str if name in texts else list):
            raise NotValid(f'The file has no proper "{name}".')
    if not re.fullmatch(r"[0-9a-f-]{36}", found["document_id"]):
        raise NotValid('The "document_id" is not a UUID.')
    return found


def check_entry(item: object, previous: int, document_id: str, checkpoint: Checkpoint) -> int:
    """Checks an entry with its proof.

    Returns:
        The index of its leaf, which is larger than the previous one.
    """
    if not isinstance(item, dict) or not isinstance(item.get("entry"), dict):
        raise NotValid("it is not an entry with a proof")
    index, entry, encoded = item.get("index"), item["entry"], item.get("proof")
    if type(index) is not int or not previous < index < checkpoint.size:
        raise NotValid("its index is not in the log, or the entry is there twice")
    if entry.get("document_id") != document_id:
        raise NotValid("it is not about this document")
    proof = [decode(each, 32) for each in encoded] if isinstance(encoded, list) else [None]
    hashes = [each for each in proof if each is not None]
    try:
        # RFC 8785, as far as entries need it: they have only texts and integers.
        canonical = json.dumps(
            entry, ensure_ascii=False, sort_keys=True, separators=(",", ":")
        ).encode()
    except (ValueError, RecursionError) as exc:
        raise NotValid("it has no canonical form") from exc
    leaf = hashlib.sha256(b"\x00" + canonical).digest()
    if len(hashes) < len(proof) or root_of(leaf, index, checkpoint.size, hashes) != checkpoint.root:
        raise NotValid("it was changed, or its proof was")
    return index


def check(evidence: dict[str, Any], key: Key) -> tuple[Checkpoint, list[dict[str, Any]]]:
    """Checks everything but PDFs.

    Returns:
        The checkpoint, and the entries that are proven.
    """
    checkpoint = Checkpoint.open(evidence["checkpoint"], key)
    document, id = evidence.get("document"), evidence["document_id"]
    if document is not None and not (isinstance(document, dict) and document.get("id") == id):
        raise NotValid("The file describes another document than its entries.")
    index = -1
    for number, item in enumerate(evidence["entries"], 1):
        try:
            index = check_entry(item, index, id, checkpoint)
        except NotValid as exc:
            raise NotValid(f"Entry {label(item, number)}: {exc}.") from exc
    for entry in evidence["unsealed"]:
        if not isinstance(entry, dict) or entry.get("document_id") != id:
            raise NotValid("An entry that is not sealed is not about this document.")
    return checkpoint, [item["entry"] for item in evidence["entries"]]


def label(item: object, number: int) -> str:
    """How to find an entry in the file, which may be wrong in every way."""
    entry = item.get("entry") if isinstance(item, dict) else None
    id = entry.get("id") if isinstance(entry, dict) else None
    return f"{number} of the file" + (f" (id {id})" if type(id) is int and id < 2**63 else "")


def check_pdf(path: Path, entries: list[dict[str, Any]]) -> str:
    """A sentence about a PDF that the proven entries name as one of the document's files.

    Nothing else in the evidence file is proven, so nothing else says what the document's files are.
    """
    try:
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as exc:
        raise NotValid(f"{path} cannot be read: {exc.strerror}.") from exc
    damaged = [each for each in entries if each["action"] == "document.file_damaged"]
    for each in damaged:
        if each.get("detail") == f"damaged: SHA-256 is {digest}":
            raise NotValid(
                f"{path} is a damaged file: the service found it in place of the document's "
                f"{each.get('file_type')} file ({entry_text(each)})."
            )
    naming = [
        each
        for each in entries
        if each["action"] in (STORED, DOWNLOADED) and each.get("file_sha256") == digest
    ]
    if not naming:
        raise NotValid(
            f"{path}: no sealed entry names this file, so nothing proves that it is one of the "
            "document's files. Perhaps it was changed."
        )
    first, type_ = naming[0], naming[0]["file_type"]
    # Documents that were not imported have only entries of downloads.
    stored = [
        each for each in entries if each["action"] == STORED and each.get("file_type") == type_
    ]
    last = stored[-1] if stored else first
    now, later = last.get("file_sha256"), entries.index(first) > entries.index(last)
    if now == digest:
        text = f"{path} is unchanged: it is a file of the document, of type {type_}."
    elif later:
        raise NotValid(
            f"{path}: the entries contradict each other. After another file of type {type_} was "
            f"stored ({entry_text(last)}), no entry says that this one replaced it."
        )
    else:
        text = (
            f"{path} is unchanged: it was a file of the document, of type {type_}, until it was "
            f"replaced or removed ({entry_text(last)})."
        )
    text += f" {len(naming)} of these entries name its SHA-256, first {entry_text(first)}."
    if found := [each for each in damaged if each.get("file_sha256") == digest]:
        text += f" The service found its own copy damaged or missing ({entry_text(found[0])})."
    return text


def entry_text(entry: dict[str, Any]) -> str:
    return f"entry {entry['id']} ({entry['action']}, {entry['created_at']})"


def report(
    evidence: dict[str, Any], checkpoint: Checkpoint, entries: list[dict[str, Any]], pdfs: list[str]
) -> None:
    """Prints what is proven and what is not."""
    count, unsealed = len(entries), len(evidence["unsealed"])
    if entries:
        print(
            f"VALID. Proven for the document {evidence['document_id']}:\n"
            f"- Entries: {count:,}. Each was in the log {checkpoint.log} at the latest at "
            f"{checkpoint.time}, and none of them was changed since."
        )
    else:
        print("NOTHING TO PROVE: the file has no sealed entry. Only its checkpoint is genuine.")
    for sentence in pdfs:
        print(f"- {sentence}")
    print("Not proven:")
    if unsealed:
        print(
            f'- {unsealed:,} entries under "unsealed", which anybody could have written. A file '
            "that the service makes a minute later proves them if they are genuine."
        )
    print(
        "- That the file has every entry of the document: who passed it on may have left some out. "
        "Only a comparison with the whole log shows that.\n"
        "- What the file says besides its entries: the document's title, status, dates and files.\n"
        "- Times: they are those of the service's clock."
    )
    print(
        f"A witness must have the same checkpoint: {checkpoint.size} entries, "
        f"root {base64.b64encode(checkpoint.root).decode()}."
    )


def main(words: list[str] | None = None, program: str | None = None) -> int:
    """Checks what the command line names. Returns the exit status."""
    parser = argparse.ArgumentParser(
        program, description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("evidence", metavar="EVIDENCE", type=Path)
    parser.add_argument("--key", metavar="NAME+HASH+KEY", type=Key.parse, required=True)
    parser.add_argument(
        "--file", metavar="PDF", type=Path, action="append", default=[], help="may be repeated"
    )
    options = parser.parse_args(words)
    try:
        evidence = read(options.evidence)
        checkpoint, entries = check(evidence, options.key)
        pdfs = [check_pdf(path, entries) for path in options.file if entries]
    except NotValid as exc:
        sys.exit(f"NOT VALID: {exc}")
    try:
        report(evidence, checkpoint, entries, pdfs)
        sys.stdout.flush()
    except BrokenPipeError:  # the reader, `head` for example, has enough
        os._exit(0 if entries else NOTHING)
    return 0 if entries else NOTHING


if __name__ == "__main__":
    sys.exit(main())
