"""The package as a whole: its examples, its types, its command."""

import doctest
import inspect
import re
import runpy
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import hamdex
import pytest

HERE = Path(__file__).parent
README = HERE.parent / "README.md"


def documented() -> list[tuple[str, object]]:
    found: list[tuple[str, object]] = [("hamdex", hamdex)]
    for name in hamdex.__all__:
        value = getattr(hamdex, name)
        found.append((name, value))
        if inspect.isclass(value):
            found += [(f"{name}.{key}", member) for key, member in vars(value).items() if not key.startswith("_")]
    return found


@pytest.mark.parametrize(("name", "value"), documented(), ids=lambda value: value if isinstance(value, str) else "")
def test_everything_is_documented_and_examples_run(name: str, value: object) -> None:
    if name == "__version__" or isinstance(value, (str, int)):
        return
    text = inspect.getdoc(value)
    assert text, f"{name} has no docstring"
    example = doctest.DocTestParser().get_doctest(text, {}, name, None, None)
    failures = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(example).failed
    assert failures == 0


@pytest.mark.parametrize("example", sorted((HERE.parent / "examples").glob("*.py")), ids=lambda path: path.stem)
def test_the_examples_run(example: Path) -> None:
    if "import pandas" in example.read_text(encoding="utf-8"):
        pytest.importorskip("pandas")
    runpy.run_path(str(example), run_name="__main__")


def blocks(page: Path) -> list[str]:
    """Return the blocks of Python of a page."""
    return re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)


def run(page: Path) -> dict[str, Any]:
    """Run the blocks of a page in their order, as they stand, and return the names that they leave."""
    names: dict[str, Any] = {}
    for number, block in enumerate(blocks(page)):
        exec(compile(block, f"{page.name}, block {number}", "exec"), names)
    return names


def test_the_blocks_of_the_package_s_readme_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pandas")
    monkeypatch.chdir(tmp_path)
    assert len(blocks(README)) == 4
    left = run(README)
    assert left["copies"] == [left["urls"][-1]] and len(left["unique"]) == 20
    assert left["known"]["known"].tolist() == [*range(15), 3] and len(left["clusters"]) == 0
    assert len(left["index"]) >= 20 and left["near"] is not None
    assert len(hamdex.open("articles.store")) == 20


def test_the_block_of_the_project_s_readme_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    left = run(HERE.parents[1] / "README.md")
    assert [row["kept"] for row in left["clusters"]] == [True, False] and len(left["index"]) == 20


def test_the_ways_to_install_agree() -> None:
    pages = [README, HERE.parent / "docs" / "spark.md", HERE.parents[1] / "README.md", HERE.parent / "python" / "hamdex" / "spark" / "__init__.py"]
    asked = {one for page in pages for one in re.findall(r"pip install '?(\./python(?:\[\w+\])?)", page.read_text(encoding="utf-8"))}
    assert asked == {"./python", "./python[spark]"}
    project = tomllib.loads((HERE.parent / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert "spark" in project["optional-dependencies"]
    assert not [page for page in pages if "hamdex[" in page.read_text(encoding="utf-8")]


def test_the_command_is_the_command(tmp_path: Path) -> None:
    def run(*arguments: str) -> "subprocess.CompletedProcess[str]":
        command = [sys.executable, "-m", "hamdex._command", *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)

    assert run("--version").stdout.startswith("hamdex ")
    (tmp_path / "in.txt").write_text("00000000000000ff\n00000000000000fe\n")
    built = run("build", "-o", str(tmp_path / "x.hamdex"), str(tmp_path / "in.txt"))
    assert built.returncode == 0, built.stderr
    assert run("query", str(tmp_path / "x.hamdex"), "00000000000000ff").stdout.count("\n") == 2
    assert run("query", str(tmp_path / "missing"), "00").returncode == 1
    assert run("nonsense").returncode == 2
    assert len(hamdex.Index(tmp_path / "x.hamdex")) == 2


def test_types_are_right() -> None:
    pytest.importorskip("mypy")
    command = [sys.executable, "-m", "mypy", "--strict", "-p", "hamdex"]
    checked = subprocess.run(command, capture_output=True, text=True, check=False, cwd=HERE.parent)
    assert checked.returncode == 0, checked.stdout
    files = sorted(str(path) for path in HERE.glob("*.py"))
    command = [sys.executable, "-m", "mypy", "--strict", *files]
    checked = subprocess.run(command, capture_output=True, text=True, check=False, cwd=HERE.parent)
    assert checked.returncode == 0, checked.stdout


def test_types_are_right_for_pyright_too() -> None:
    pytest.importorskip("pyright", reason="pyright is not installed: types are checked by mypy alone")
    pytest.importorskip("pyspark", reason="pyspark is not installed: types are checked by mypy alone")
    command = [sys.executable, "-m", "pyright", "--pythonpath", sys.executable]
    checked = subprocess.run(command, capture_output=True, text=True, check=False, cwd=HERE.parent)
    assert checked.returncode == 0, checked.stdout + checked.stderr
