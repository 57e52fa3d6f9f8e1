"""The rules of the source tree, executable: who imports whom, how big, how named."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tangere.contact.method import methods

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "src" / "tangere"
SOURCES = sorted(PACKAGE.rglob("*.py"))
FOLDERS = sorted({path.parent.relative_to(PACKAGE).as_posix() for path in SOURCES})

# Past this a module is usually two ideas.
MAX_LINES = 700
# Names that say nothing about what is inside.
EMPTY_NAMES = {"common", "core", "helpers", "kernels", "misc", "utils"}
# Underscore names that other libraries give to their users.
NAMED_TUPLE = {"_asdict", "_fields", "_make", "_replace"}
# Underscore names of other libraries that one module has no public way around, with the reason.
FOREIGN = {
    # Numba's code library and its cache: what decides which function is compiled into which.
    "_inner.py": {
        "_ensure_finalized",
        "_final_module",
        "_finalize_dynamic_globals",
        "_tm",
    },
    "_jit.py": {"_cache"},
    # ctypes: fields and codes of its types have no other names.
    "_native.py": {"_fields_", "_type_"},
    # os: leave at once, whatever a driver's threads or this program's handlers would like to do.
    "fakes/held_program.py": {"_exit"},
    "session/hand_process.py": {"_exit"},
    # viser: the one place where messages of a page can be seen before they are handled.
    "viewer/server.py": {"_handle_incoming_message", "_websock_server"},
}


def test_layers_hold() -> None:
    done = subprocess.run(
        [sys.executable, "-c", "from importlinter.cli import lint_imports_command as c; c()"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "0 broken" in done.stdout


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_module_is_one_idea_with_a_name(source: Path) -> None:
    text = source.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= MAX_LINES
    assert source.stem not in EMPTY_NAMES
    assert not {"TODO", "FIXME", "NotImplementedError"} & set(text.replace("(", " ").split())


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__")


def names_defined(tree: ast.Module) -> set[str]:
    """What a module defines: functions, classes, attributes of classes and of `self`."""
    names = set()
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                names.add(node.name)
            case ast.Attribute(value=ast.Name(id="self" | "cls"), ctx=ast.Store()):
                names.add(node.attr)
            case ast.ClassDef():
                names |= {
                    name.id
                    for statement in node.body
                    if isinstance(statement, ast.Assign | ast.AnnAssign)
                    for name in ast.walk(statement)
                    if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Store)
                } | {node.name}
    return names


def private_names_read(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Underscore names that a module imports, or takes from an object or another module."""
    for node in ast.walk(tree):
        match node:
            case ast.ImportFrom(names=names):
                for alias in names:
                    yield node.lineno, alias.name
            case ast.Attribute(attr=name):
                yield node.lineno, name
            case ast.Call(
                func=ast.Name(id="getattr" | "setattr" | "hasattr"),
                args=[_, ast.Constant(value=str() as name), *_],
            ):
                yield node.lineno, name


@pytest.mark.parametrize("folder", FOLDERS)
def test_no_module_reads_underscore_names_of_another(folder: str) -> None:
    offenders = []
    for source in sorted((PACKAGE / folder).glob("*.py")):
        path = source.relative_to(PACKAGE).as_posix()
        tree = ast.parse(source.read_text(encoding="utf-8"))
        allowed = names_defined(tree) | NAMED_TUPLE | FOREIGN.get(path, set())
        offenders += [
            f"{path}:{line} {name}"
            for line, name in private_names_read(tree)
            if is_private(name) and name not in allowed
        ]
    assert not offenders


def test_allowed_underscore_names_are_all_in_use() -> None:
    for path, names in FOREIGN.items():
        tree = ast.parse((PACKAGE / path).read_text(encoding="utf-8"))
        assert names <= {name for _, name in private_names_read(tree)}, path


# Where methods may be named: their own folders, the registry, experiments, the scene library, the
# public names; the benchmarks have names of their own.
NAMES_METHODS = ("contact/", "experiments/", "bench/", "scene/library.py", "__init__.py")


def method_names_used(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Comparisons with a method's name, dictionaries keyed by it, and tests for its options."""
    options = {methods[name].options.__name__ for name in methods}
    for node in ast.walk(tree):
        inside: list[ast.expr] = []
        match node:
            case ast.Compare(left=left, comparators=right):
                inside = [left, *right]
            case ast.Dict(keys=keys):
                inside = [key for key in keys if key is not None]
            case ast.Call(func=ast.Name(id="isinstance"), args=[_, kind]):
                inside = [kind]
            case (
                ast.AnnAssign(value=ast.Constant() as value)
                | ast.keyword(arg="method", value=ast.Constant() as value)
            ):
                inside = [value]
        for part in inside:
            for leaf in ast.walk(part):
                if isinstance(leaf, ast.Constant) and leaf.value in list(methods):
                    yield leaf.lineno, str(leaf.value)
                elif isinstance(leaf, ast.Name) and leaf.id in options:
                    yield leaf.lineno, leaf.id


def test_no_method_is_known_by_name_but_where_it_lives() -> None:
    offenders = []
    for source in SOURCES:
        path = source.relative_to(PACKAGE).as_posix()
        if not path.startswith(NAMES_METHODS):
            tree = ast.parse(source.read_text(encoding="utf-8"))
            offenders += [f"{path}:{line} {name}" for line, name in method_names_used(tree)]
    assert not offenders
