"""Rules for compiled functions, read off the syntax tree of every source of the package.

A kernel that reached a source which the hash of its module misses could run stale machine code
after an edit there (see `tangere._jit`): the last two tests rule that out.
"""

from __future__ import annotations

import ast
import importlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from tangere import _jit
from tangere._clock import PORTABLE
from tangere.warmup import warm_up

# Past this a kernel's parameters belong in a group (a NamedTuple).
MAX_PARAMETERS = 12

SOURCES = sorted(_jit.PACKAGE.rglob("*.py"))


def module_name(source: Path) -> str:
    """Dotted name of a source file."""
    parts = source.relative_to(_jit.PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


TREES = {source: ast.parse(source.read_text(encoding="utf-8")) for source in SOURCES}
BY_NAME = {module_name(source): source for source in SOURCES}


def kernels(source: Path) -> Iterator[ast.FunctionDef]:
    """Functions under the `kernel` decorator."""
    for node in ast.walk(TREES[source]):
        if isinstance(node, ast.FunctionDef):
            names = {ast.unparse(decorator) for decorator in node.decorator_list}
            if names & {"kernel", "_jit.kernel"}:
                yield node


def imported(module: str) -> set[str]:
    """Modules of the package that a module imports, also inside functions."""
    names: set[str] = set()
    for node in ast.walk(TREES[BY_NAME[module]]):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module}: relative import"
            names.add(str(node.module))
            names.update(f"{node.module}.{alias.name}" for alias in node.names)
    return names & BY_NAME.keys()


def called_by_python() -> set[tuple[str, str]]:
    """Module and name of every kernel that is named outside of kernels and of benchmarks."""
    own = {module_name(source): {node.name for node in kernels(source)} for source in SOURCES}
    found: set[tuple[str, str]] = set()
    for source, tree in TREES.items():
        module = module_name(source)
        if module.startswith("tangere.bench."):
            continue
        names = {name: (module, name) for name in own[module]}
        modules: dict[str, str] = {}
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom):
                origin = str(node.module)
                for alias in node.names:
                    name = alias.asname or alias.name
                    if alias.name in own.get(origin, ()):
                        names[name] = (origin, alias.name)
                    elif f"{origin}.{alias.name}" in own:
                        modules[name] = f"{origin}.{alias.name}"
        bodies = {id(node) for kernel in kernels(source) for node in ast.walk(kernel)}
        for node in ast.walk(tree):
            if id(node) in bodies:
                continue
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                found |= {names[node.func.id]} if node.func.id in names else set()
            elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                owner = node.func.value
                if isinstance(owner, ast.Name) and owner.id in modules:
                    if node.func.attr in own[modules[owner.id]]:
                        found.add((modules[owner.id], node.func.attr))
    return found


KERNELS = [(source, node) for source in SOURCES for node in kernels(source)]


def test_the_package_has_kernels() -> None:
    assert len(KERNELS) > 20


@pytest.mark.parametrize(
    ("source", "node"), KERNELS, ids=[f"{module_name(s)}.{n.name}" for s, n in KERNELS]
)
def test_kernel_is_annotated_documented_and_small_in_parameters(
    source: Path, node: ast.FunctionDef
) -> None:
    where = f"{source.name}:{node.lineno} {node.name}"
    arguments = node.args
    assert [arguments.vararg, arguments.kwarg, *arguments.kwonlyargs] == [None, None], where
    assert all(argument.annotation for argument in arguments.args), f"{where}: annotate parameters"
    assert node.returns is not None, f"{where}: annotate the result"
    assert ast.get_docstring(node), f"{where}: say what comes out"
    assert len(arguments.args) <= MAX_PARAMETERS, f"{where}: group the parameters"


def test_only_jit_names_the_compiler() -> None:
    compilers = {"njit", "jit", "vectorize", "guvectorize", "cfunc", "stencil"}
    guilty = [
        f"{source.name}:{node.lineno}"
        for source, tree in TREES.items()
        if source.name != "_jit.py"
        for node in ast.walk(tree)
        if (isinstance(node, ast.Attribute) and node.attr in compilers)
        or (isinstance(node, ast.alias) and node.name in compilers)
        or (isinstance(node, ast.Name) and node.id in compilers)
    ]
    assert guilty == []


@pytest.mark.parametrize("module", sorted({module_name(source) for source, _ in KERNELS}))
def test_hash_of_a_kernel_module_covers_all_it_imports(module: str) -> None:
    reached, fresh = set(), {module}
    while fresh:
        reached |= fresh
        fresh = {name for each in fresh for name in imported(each)} - reached
    assert reached <= _jit.Sources().closure(module)


def test_no_kernel_module_reaches_others_through_the_lazy_package() -> None:
    for source, _ in KERNELS:
        assert "tangere" not in imported(module_name(source)), source


def test_the_warm_up_leaves_nothing_to_compile() -> None:
    """A kernel that Python calls has machine code of its own; one that is missed compiles later."""
    if _jit.JIT_DISABLED:
        pytest.skip("nothing is compiled")
    warm_up()
    other_loop = {"do_tick", "end_tick"} if not PORTABLE else {"serve"}
    cold = {
        f"{module}.{name}"
        for module, name in called_by_python()
        if name not in other_loop
        and name != "ptr"  # of `_ptr` itself, in plain Python
        and not getattr(importlib.import_module(module), name).overloads
    }
    assert cold == set()
