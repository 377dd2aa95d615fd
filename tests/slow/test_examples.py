"""The programs in examples/: what all of them have in common."""

from pathlib import Path

import pytest

from config.runtime.ports import free_port
from tests.apikeys.test_rate_limit import used_up
from tests.support import factories
from tests.support.client import forget_requests
from tests.support.examples import Examples, Requests
from tests.support.factories import Tenant
from tests.support.proxy import HOST
from tests.support.server import ROOT, Server

ID = str(factories.uid(1))
PROGRAMS = {
    "attach": [ID],
    "copy_completed": ["copies"],
    "report_waiting": [],
}
OFFLINE = {"verify_evidence"}  # needs no service (`tests/slow/test_examples_evidence.py`)
SERVERS = {"receive"}  # `tests/slow/test_examples_receive.py`


def test_examples_are_all_tested() -> None:
    assert {file.stem for file in (ROOT / "examples").glob("*.py")} == (
        OFFLINE | SERVERS | set(PROGRAMS)
    )


@pytest.mark.parametrize("name", PROGRAMS)
def test_examples_help_names_the_variables(examples: Examples, name: str) -> None:
    examples.environment = {}
    printed = examples.run(name, "--help")
    assert printed.startswith(f"usage: {name}.py")
    assert "DTD_BASE_URL" in printed
    assert "DTD_API_KEY" in printed


WRONG = {
    "no key": ({"DTD_API_KEY": ""}, "Set DTD_API_KEY; see --help."),
    "nothing": (
        {"DTD_API_KEY": "", "DTD_BASE_URL": ""},
        "Set DTD_BASE_URL and DTD_API_KEY; see --help.",
    ),
    "a wrong key": (
        {"DTD_API_KEY": "dtd_wrong"},
        "A valid API key is required. Send it in the header 'Authorization: Bearer dtd_...'; "
        "a workspace admin can create one in the developer settings.",
    ),
    **{
        f"a character no key has: {raw!r}": (
            {"DTD_API_KEY": raw},
            "DTD_API_KEY has a character that is in no key; copy it again.",
        )
        for raw in ("dtd_ключ", "dtd_\u200b", "dtd_a\nb", "dtd_\x7f")
    },
    "an address with the path": (
        {"DTD_BASE_URL": "{base}/api/v1"},
        "The API has no such path.",
    ),
    "no scheme": (
        {"DTD_BASE_URL": "service.example"},
        "UnsupportedProtocol: Request URL is missing an 'http://' or 'https://' protocol.",
    ),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_examples_print_one_clear_line_if_a_variable_is_wrong(
    examples: Examples, wrong: str
) -> None:
    changed, line = WRONG[wrong]
    base = examples.environment["DTD_BASE_URL"]
    examples.environment |= {name: text.format(base=base) for name, text in changed.items()}
    for name, words in PROGRAMS.items():
        printed = examples.run(name, *words, status=1)
        assert printed.endswith(f"{line}\n")
        assert printed.count("\n") == 1


def test_examples_print_one_clear_line_for_a_workspace_without_api_access(
    tmp_path: Path, server: Server, freebie: Tenant, frozen: Tenant
) -> None:
    for tenant, word in ((freebie, "plan"), (frozen, "suspended")):
        refused = Examples(tmp_path, server, tenant)
        for name, words in PROGRAMS.items():
            printed = refused.run(name, *words, status=1)
            assert word in printed
            assert printed.count("\n") == 1


def test_examples_retry_if_the_service_is_out_of_reach_and_then_print_one_clear_line(
    examples: Examples,
) -> None:
    examples.environment["DTD_BASE_URL"] = f"http://{HOST}:{free_port()}"
    for name, words in PROGRAMS.items():
        lines = examples.run(name, *words, status=1).splitlines()
        assert [line.rpartition(". ")[2] for line in lines[:-1]] == [
            "Waiting 1 s.",
            "Waiting 2 s.",
            "Waiting 3 s.",
        ]
        assert lines[-1].endswith("Connection refused.")
    assert examples.waits == [1, 2, 3] * len(PROGRAMS)


def test_examples_wait_as_long_as_a_429_says(tmp_path: Path, server: Server, acme: Tenant) -> None:
    factories.document(acme.workspace, "COMPLETED", id=ID)
    requests = Requests(server)
    for name, words in PROGRAMS.items():
        limited = Examples(tmp_path, server, used_up(acme))
        limited.during_wait = forget_requests
        printed = limited.run(name, *words)
        (seconds,) = limited.waits
        assert 1 <= seconds <= 60
        assert ": this key may make 300 requests a minute." in printed
        assert f"Waiting {seconds} s." in printed
    # Each was refused once and succeeded the next time.
    assert requests() == [
        *("download 429", "download 200"),
        *("events 429", "events 200", "me 200", "documents 200", "download 200", "download 200"),
        *("documents 429", "documents 200"),
    ]
    assert len(list((tmp_path / "copies").glob("*.pdf"))) == 2
