"""A trace as tables for other programs, written a part at a time."""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tangere.errors import SceneError
from tangere.geometry.checks import one_line
from tangere.trace.columns import flat_names

if TYPE_CHECKING:
    from tangere.trace.trace import Trace

FilePath = str | os.PathLike[str]
GROUP_ROWS = 32_768  # of a Parquet file that are compressed together


def write_csv(trace: Trace, path: FilePath) -> None:
    """One line of names, one line per tick, every digit kept."""
    blocks = (numbers for _, numbers in map(_table, trace.blocks()))
    _write_lines(path, _table(trace[:0])[0], blocks)


def write_csv_table(table: NDArray[Any], path: FilePath) -> None:
    """Events or labels."""
    names = list(table.dtype.names or ())
    _write_lines(path, names, [[table[name] for name in names]])


def _write_lines(path: FilePath, names: list[str], blocks: Iterable[list[NDArray[Any]]]) -> None:
    try:
        with open(path, "w", encoding="utf-8", newline="") as file:
            lines = csv.writer(file, lineterminator="\n")
            lines.writerow(names)
            for columns in blocks:
                lines.writerows(zip(*(column.tolist() for column in columns), strict=True))
    except OSError as error:
        raise unwritable(path, error) from None


def write_parquet(trace: Trace, path: FilePath) -> None:
    """The columns of `write_csv`, and `meta` as JSON under "tangere"."""
    blocks = (numbers for _, numbers in map(_table, trace.blocks(GROUP_ROWS)))
    names, kinds = _table(trace[:0])
    _write_groups(path, names, kinds, blocks, {"tangere": json.dumps(trace.meta)})


def write_parquet_table(table: NDArray[Any], path: FilePath) -> None:
    """Events or labels."""
    names = list(table.dtype.names or ())
    columns = [table[name] for name in names]
    _write_groups(path, names, columns, [columns], {})


def _write_groups(
    path: FilePath,
    names: list[str],
    kinds: list[NDArray[Any]],
    blocks: Iterable[list[NDArray[Any]]],
    meta: dict[str, str],
) -> None:
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise SceneError(
            "to_parquet needs pyarrow, which is not installed: pip install 'tangere[parquet]'"
        ) from None
    types = [pa.string() if k.dtype.kind == "U" else pa.from_numpy_dtype(k.dtype) for k in kinds]
    schema = pa.schema(list(zip(names, types, strict=True)), metadata=meta)
    try:
        with pq.ParquetWriter(os.fspath(path), schema, compression="zstd") as file:
            for columns in blocks:
                arrays = [pa.array(c, type=t) for c, t in zip(columns, types, strict=True)]
                file.write_table(pa.Table.from_arrays(arrays, schema=schema))
    except OSError as error:
        raise unwritable(path, error) from None


def _table(trace: Trace) -> tuple[list[str], list[NDArray[Any]]]:
    """Single numbers with their names, for tables without vectors."""
    names: list[str] = []
    columns: list[NDArray[Any]] = []
    for name in trace:
        values = trace[name]
        width = 1 if values.ndim == 1 else values.shape[1]
        names += flat_names(name, width)
        columns += [values] if width == 1 else list(values.T)
    return names, [np.ascontiguousarray(column) for column in columns]


def unwritable(path: FilePath, error: Exception) -> SceneError:
    """That a file cannot be written, in one line."""
    return SceneError(f"{one_line(path)}: cannot write ({one_line(error)}); choose another path")
