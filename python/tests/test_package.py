"""The package as a whole: its examples, its types, its command."""

import doctest
import inspect
import re
import runpy
import subprocess
import sys
from pathlib import Path

import hamdex
import pyarrow as pa
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


def test_the_example_runs() -> None:
    runpy.run_path(str(HERE.parent / "examples" / "news.py"), run_name="__main__")


def test_what_the_readme_says_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    texts = [" ".join(f"word{number}x{place}" for place in range(80)) for number in range(20)]
    texts.append(texts[3].replace("x40", "y"))
    urls = [f"https://example.org/{number}" for number in range(len(texts))]
    fps = hamdex.fingerprint(texts)
    for name in ("a", "b"):
        hamdex.build(name, fps, ids=urls, recipe="default")
    table = pa.table({"text": texts, "body": texts, "url": urls})
    given = {"texts": texts, "yesterday": texts[:2], "urls": urls, "table": table, "a": "a", "b": "b", "fp": 7, "old": int(fps[1]), "page_id": 1}
    texts_in, against, index, stores, *others = re.findall(r"```python\n(.*?)```", README.read_text(), re.DOTALL)
    assert not others and "against=" in against
    # The documentation compares with an index before it is built; here it is built first.
    for example in (texts_in, index, against, stores):
        exec(example, {**given, "ids": list(range(len(fps))), "fps": fps, "hamdex": hamdex})


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
