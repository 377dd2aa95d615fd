"""Completions of downloads that could not be recorded, each in a file until it is.

The files are in SPOOL_DIR, named after the requests. Processes may share the folder, and a file may
stay although its completion is recorded: `completions.downloads_ended` records each download once.
"""

import contextlib
import logging
import os
import re
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
from django.conf import settings
from django.db import Error as DatabaseError

from audit import completions
from config import metrics
from config.logs import request_id
from config.request_context import deadline
from config.slots import GATES, NoSlot

logger = logging.getLogger(__name__)

RECORDING_SECONDS = 5.0  # that recording a completion may take
RETRY_SECONDS = 2.0
NOT_RECORDED = (DatabaseError, NoSlot)
_REQUEST_ID = re.compile(r"[0-9a-f]{32}")
_decoder = msgspec.json.Decoder(completions.Completion)


@contextlib.contextmanager
def recording(seconds: float = RECORDING_SECONDS) -> Iterator[None]:
    """Takes the slot of completions, and limits its statements to so many seconds.

    Raises:
        NoSlot: there is none.
    """
    token = deadline.set(time.monotonic() + seconds)
    gate = GATES["completion"]
    try:
        gate.enter()
        try:
            yield
        finally:
            gate.leave()
    finally:
        deadline.reset(token)


def add(id: str, completion: completions.Completion) -> bool:
    """Stores a completion, by its request's id; returns whether it is on the disk."""
    folder = Path(settings.SPOOL_DIR)
    try:
        with tempfile.NamedTemporaryFile(dir=folder, suffix=".new", delete=False) as file:
            try:
                file.write(msgspec.json.encode(completion))
                file.flush()
                os.fsync(file.fileno())
                Path(file.name).replace(folder / f"{id}.json")
            except OSError:
                Path(file.name).unlink(missing_ok=True)
                raise
        _sync(folder)
    except OSError as exc:
        logger.error("The completion of a download cannot be stored in SPOOL_DIR: %s", exc)
        return False
    return True


def _sync(folder: Path) -> None:
    """Makes a new name in the folder survive a power cut."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def record_waiting(seconds: float = RECORDING_SECONDS) -> int:
    """Records what waits, until the database fails; returns how many still wait.

    Args:
        seconds: that recording one may take.
    """
    waiting = sorted(Path(settings.SPOOL_DIR).glob("*.json"))
    left = len(waiting)
    for file in waiting:
        token = request_id.set(file.stem)
        try:
            _record(file, seconds)
            left -= 1
        except NOT_RECORDED as exc:
            logger.info("The completion of a download waits: %r", exc)
            break
        except OSError as exc:
            logger.error("The completion %s cannot be read or deleted: %s", file, exc)
        finally:
            request_id.reset(token)
    metrics.COMPLETIONS_SPOOLED.set(left)
    return left


def _record(file: Path, seconds: float) -> None:
    try:
        completion = _decoder.decode(file.read_bytes())
    except FileNotFoundError:
        return  # another process was quicker
    except msgspec.MsgspecError as exc:
        _set_aside(file, str(exc))
        return
    if not _REQUEST_ID.fullmatch(file.stem):
        _set_aside(file, "its name is not the id of a request")
        return
    with recording(seconds):
        recorded, before = completions.downloads_ended({file.stem: completion})
    if recorded or before:
        file.unlink(missing_ok=True)
    else:
        _set_aside(file, "the audit log has no download with this request id")


def _set_aside(file: Path, problem: str) -> None:
    """Renames a file that can never be recorded, for an operator to look at."""
    with contextlib.suppress(FileNotFoundError):  # another process was quicker
        aside = file.rename(file.with_suffix(".refused"))
        logger.error("A completion cannot be recorded and is now %s: %s", aside, problem)


def start() -> None:
    """Records from a thread what waits, also what an earlier process has left."""
    folder = Path(settings.SPOOL_DIR)
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not os.access(folder, os.W_OK | os.X_OK):
            raise PermissionError(f"{folder} is not writable")
    except OSError as exc:
        logger.error("Completions of downloads are lost while the database fails: %s", exc)
    threading.Thread(target=_run, name="spool", daemon=True).start()


def _run() -> None:
    logged = 0
    while True:
        try:
            waiting = record_waiting()
        except Exception:  # the thread must live as long as the process
            logger.exception("Waiting completions cannot be recorded")
        else:
            if waiting != logged:
                logger.warning("Completions of downloads that wait for the database: %d", waiting)
            logged = waiting
        time.sleep(RETRY_SECONDS)
