"""The programs in examples/: what is the same for all of them."""

from pathlib import Path

import pytest

from config.embedded.service import free_port
from tests import factories
from tests.examples import Asked, Examples, ended
from tests.factories import Tenant
from tests.proxy import HOST
from tests.server import ROOT, Server
from tests.test_rate_limit import counted

ID = str(factories.uid(1))
PROGRAMS = {
    "attach": [ID],
    "copy_completed": ["copies"],
    "report_waiting": [],
}


@pytest.fixture
def examples(tmp_path: Path, server: Server, acme: Tenant) -> Examples:
    return Examples(tmp_path, server, acme)


def test_each_program_is_tried() -> None:
    assert {file.stem for file in (ROOT / "examples").glob("*.py")} == set(PROGRAMS)


@pytest.mark.parametrize("name", PROGRAMS)
def test_help_says_what_a_program_needs(examples: Examples, name: str) -> None:
    examples.environment = {}
    printed = examples.run(name, "--help")
    assert printed.startswith(f"usage: {name}.py")
    assert "DTD_BASE_URL" in printed
    assert "DTD_API_KEY" in printed


WRONG = {
    "no key": ({"DTD_API_KEY": ""}, "Set DTD_API_KEY; --help says to what."),
    "nothing": (
        {"DTD_API_KEY": "", "DTD_BASE_URL": ""},
        "Set DTD_BASE_URL and DTD_API_KEY; --help says to what.",
    ),
    "a wrong key": (
        {"DTD_API_KEY": "dtd_wrong"},
        "A valid API key is required. Send it in the header 'Authorization: Bearer dtd_...'; "
        "a workspace admin can create one in the developer settings.",
    ),
    "letters no key has": (
        {"DTD_API_KEY": "dtd_ключ"},
        "UnicodeEncodeError: 'ascii' codec can't encode characters in position 11-14: "
        "ordinal not in range(128)",
    ),
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
def test_what_is_set_wrong_is_one_clear_line(examples: Examples, wrong: str) -> None:
    changed, line = WRONG[wrong]
    base = examples.environment["DTD_BASE_URL"]
    examples.environment |= {name: text.format(base=base) for name, text in changed.items()}
    started = [examples.start(name, *words) for name, words in PROGRAMS.items()]
    for each in started:
        printed = ended(each, status=1)
        assert printed.endswith(f"{line}\n")
        assert printed.count("\n") == 1


def test_a_workspace_without_the_api_is_one_clear_line(
    tmp_path: Path, server: Server, freebie: Tenant, frozen: Tenant
) -> None:
    for tenant, word in ((freebie, "plan"), (frozen, "suspended")):
        refused = Examples(tmp_path, server, tenant)
        started = [refused.start(name, *words) for name, words in PROGRAMS.items()]
        for each in started:
            printed = ended(each, status=1)
            assert word in printed
            assert printed.count("\n") == 1


def test_a_service_that_is_away_is_asked_again_and_then_one_clear_line(examples: Examples) -> None:
    examples.environment["DTD_BASE_URL"] = f"http://{HOST}:{free_port()}"
    started = [examples.start(name, *words) for name, words in PROGRAMS.items()]
    for each in started:
        lines = ended(each, status=1).splitlines()
        assert [line.rpartition(". ")[2] for line in lines[:-1]] == [
            "Waiting 1 s.",
            "Waiting 2 s.",
            "Waiting 3 s.",
        ]
        assert lines[-1].endswith("Connection refused.")


def test_a_429_is_obeyed(tmp_path: Path, server: Server, acme: Tenant) -> None:
    factories.document(acme.workspace, "COMPLETED", id=ID)
    spent = Examples(tmp_path, server, counted(acme, 300, least=7, most=9))
    asked = Asked(server)
    started = [spent.start(name, *words) for name, words in PROGRAMS.items()]
    for each in started:
        assert "Too many requests: this key may make 300 a minute." in ended(each)
    answers = asked()
    # Each was refused once, and had what it asked for the next time.
    assert sorted(answers) == sorted(
        ["download 429", "me 429", "documents 429"]
        + ["me 200", "documents 200", "documents 200"]
        + ["download 200"] * 3
    )
    assert len(list((tmp_path / "copies").glob("*.pdf"))) == 2
