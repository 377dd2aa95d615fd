"""The documents say what is: each path and symbol in them exists."""

import ast
import re
from pathlib import Path

from tests.support.server import ROOT

REFERENCES = sorted(
    set(re.findall(r"`([\w./]+\.(?:py|sql))(?::([\w.]+))?`", (ROOT / "docs/where.md").read_text()))
)


def symbols(file: Path) -> set[str]:
    """The names that a module defines at its top level, and its classes' with their class."""
    found = set()
    for node in ast.parse(file.read_text()).body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.add(node.name)
        if isinstance(node, ast.ClassDef):
            found |= {f"{node.name}.{n.name}" for n in node.body if isinstance(n, ast.FunctionDef)}
        if isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            found |= {target.id for target in targets if isinstance(target, ast.Name)}
    return found


def test_where_map_has_only_paths_and_symbols_that_exist() -> None:
    for path in {path for path, _ in REFERENCES}:
        assert (ROOT / path).is_file(), path
        named = {symbol for file, symbol in REFERENCES if file == path and symbol}
        assert not named or named <= symbols(ROOT / path), path


def test_where_map_names_each_models_module() -> None:
    named = {path for path, _ in REFERENCES}
    models = {str(file.relative_to(ROOT)) for file in ROOT.glob("*/models.py")}
    assert models <= named


DOCUMENTS = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), ROOT / "tests" / "README.md"]


def test_documents_have_only_links_and_make_verbs_that_exist() -> None:
    verbs = set(re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    for file in DOCUMENTS:
        text = file.read_text()
        for target in re.findall(r"\]\(([^)#]+)\)", text):
            assert (file.parent / target).exists(), (file, target)
        assert set(re.findall(r"`make (\w+)", text)) <= verbs, file


def test_documents_name_only_files_that_exist() -> None:
    folders = "config|audit|workspaces|apikeys|documents|tests|docs"
    for file in ("CONTRIBUTING.md", "docs/architecture.md"):
        named = re.findall(rf"[`>]((?:{folders})/[\w/.]+)", (ROOT / file).read_text())
        assert named
        assert [path for path in named if not (ROOT / path).exists()] == []


def test_decisions_are_short_and_listed() -> None:
    folder = ROOT / "docs" / "decisions"
    listed = re.findall(r"\]\((\d{4}-[\w-]+\.md)\)", (folder / "README.md").read_text())
    assert listed == sorted(file.name for file in folder.glob("0*.md"))
    assert [name for name in listed if (folder / name).read_text().count("\n") > 30] == []
