"""What happened in a session, tick by tick: `Trace` reads, sums up, draws, saves and exports it."""

from __future__ import annotations

import hashlib
import json
import os
import secrets
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from tangere.errors import SceneError
from tangere.geometry.checks import frozen, hint, one_line
from tangere.haptics.layout import NROW
from tangere.maths.vec import Array
from tangere.trace import metrics
from tangere.trace.columns import (
    FAULTS_OF_THE_MACHINE,
    OF_THE_MACHINE,
    WHOLE_NUMBERS,
    Fault,
    Place,
    faults_of,
    flat_names,
    in_words,
    places_of,
    row_type,
)
from tangere.trace.file import RowFile, read

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# The settings that define a run: with these and the same hand it goes the same way again.
DEFINING = ("scene", "method", "integrator", "coupling", "rate", "seed", "settings", "tools")
HASHED_ROWS = 10_000  # at a time, to save memory


class Trace:
    """A recorded session.

    `trace["tool.force"]` is a column, shape (ticks,) or (ticks, 3 or 4); `trace.columns` has their
    names. With several tools a column's full name begins with that of its tool, as in
    `trace["left.tool.force"]`; the plain name means the first tool. World axes, SI units; columns
    of the device are in its own base frame.

    Attributes:
        rows: All numbers, one row per tick; read-only.
        meta: Scene, method, integrator, coupling, device, rate, seed, settings of each tool,
            versions, machine, start, why it ended, and faults in words.
        tools: Names of the tools.
        faults: Every stretch of ticks in which something was wrong or limited.
    """

    def __init__(
        self,
        rows: Array,
        meta: Mapping[str, Any] | None = None,
        tools: Sequence[str] = ("tool",),
        *,
        places: Mapping[str, Place] | None = None,
    ) -> None:
        """A trace of rows in memory.

        Args:
            rows: As the servo writes them, shape (ticks, NROW × tools).
            meta: What is known of the session.
            tools: Names, in the order in which they stand in a row.
            places: Where each column stands; as in the layout of the servo if not given.
        """
        rows = np.array(rows, dtype=np.float64, ndmin=2, order="C")
        if places is None and rows.shape[1] != NROW * len(tools):
            raise SceneError(
                f"trace: rows of {len(tools)} tools have {NROW * len(tools)} numbers, got "
                f"{rows.shape[1]}"
            )
        self.rows = frozen(rows)
        self.tools = tuple(tools)
        self._places = dict(places_of(tools) if places is None else places)
        self.faults: list[Fault] = []
        for tool in self.tools:
            whose = tool if len(self.tools) > 1 else ""
            self.faults += faults_of(self[f"{tool}.time"], self[f"{tool}.fault"], whose)
        self.faults.sort(key=lambda fault: fault.time)
        self.meta: dict[str, Any] = {**(meta or {}), "tools": list(tools)}
        self.meta["faults"] = in_words(self.faults)

    # ------------------------------------------------------------------ reading

    def __getitem__(self, name: str) -> NDArray[Any]:
        """One column, read-only; whole numbers as integers."""
        full = self._full_name(name)
        place = self._places[full]
        values = self.rows[:, place.start : place.start + place.width]
        if full.endswith(WHOLE_NUMBERS):
            return np.nan_to_num(values[:, 0]).astype(np.int64)
        return values[:, 0] if place.width == 1 else values

    def _full_name(self, name: str) -> str:
        for full in (name, f"{self.tools[0]}.{name}"):
            if full in self._places:
                return full
        plain = name.removeprefix(f"{self.tools[0]}.") if isinstance(name, str) else ""
        if plain in self._places:
            return plain
        raise SceneError(f"no column {name!r} in the trace{hint(name, list(self._places))}")

    def __contains__(self, name: object) -> bool:
        """Whether there is such a column."""
        try:
            return isinstance(name, str) and bool(self._full_name(name))
        except SceneError:
            return False

    def __len__(self) -> int:
        """Ticks."""
        return len(self.rows)

    def __iter__(self) -> Iterator[str]:
        """Names of the columns."""
        return iter(self._places)

    def __repr__(self) -> str:
        """Length and tools."""
        return f"<Trace of {len(self)} ticks, {self.duration:.3f} s, {', '.join(self.tools)}>"

    @property
    def columns(self) -> list[str]:
        """Names of all columns."""
        return list(self._places)

    @property
    def time(self) -> Array:
        """Time of each tick since the start [s]."""
        return self["time"]

    @property
    def duration(self) -> float:
        """Time from the first tick to the end of the last [s]."""
        return float(self.time[-1] - self.time[0]) + 1.0 / self.rate if len(self) else 0.0

    @property
    def rate(self) -> float:
        """Ticks per second that were wanted."""
        if "rate" in self.meta:
            return float(self.meta["rate"])
        return 1.0 / float(np.median(np.diff(self.time))) if len(self) > 1 else 1000.0

    @property
    def virtual(self) -> bool:
        """Whether it ran on the virtual clock, where no tick can be late."""
        return self.meta.get("clock") == "virtual"

    @property
    def settings(self) -> dict[str, Any]:
        """Settings of the first tool, in words; empty when they were not recorded."""
        return dict(self.meta.get("settings", {}).get(self.tools[0], {}))

    def of(self, tool: str) -> Trace:
        """The trace of one tool alone.

        Raises:
            SceneError: There is no such tool.
        """
        if tool not in self.tools:
            raise SceneError(f"no tool {tool!r} in the trace{hint(tool, list(self.tools))}")
        if len(self.tools) == 1:
            return self
        start = min(p.start for n, p in self._places.items() if n.startswith(f"{tool}."))
        places = {
            name.removeprefix(f"{tool}."): Place(place.start - start, place.width)
            for name, place in self._places.items()
            if name.startswith(f"{tool}.")
        }
        width = max(place.start + place.width for place in places.values())
        part = self.rows[:, start : start + width]
        return Trace(part, self.meta, (tool,), places=places)

    # ------------------------------------------------------------------ identity

    def hash(self) -> str:
        """SHA-256 of what must come out again when the session is repeated, in hexadecimal.

        It covers the settings that define the run and all columns but those that tell how the
        machine did: `servo.late`, `servo.duration`, `servo.missed`, and the bits of `fault` of the
        recorder and the viewer.
        """
        defining = {key: self.meta[key] for key in DEFINING if key in self.meta}
        digest = hashlib.sha256(json.dumps(defining, sort_keys=True).encode())
        kept = {n: p for n, p in self._places.items() if not n.endswith(OF_THE_MACHINE)}
        digest.update("\n".join(kept).encode())
        index = np.concatenate([np.arange(p.start, p.start + p.width) for p in kept.values()])
        fault = [i for i, at in enumerate(index) if at in self._fault_places()]
        for first in range(0, len(self), HASHED_ROWS):
            rows = self.rows[first : first + HASHED_ROWS, index]
            bits = np.nan_to_num(rows[:, fault]).astype(np.int64)
            rows[:, fault] = bits & ~FAULTS_OF_THE_MACHINE
            digest.update(rows.astype("<f8", copy=False).tobytes())
        return digest.hexdigest()

    def _fault_places(self) -> set[int]:
        return {place.start for name, place in self._places.items() if name.endswith("fault")}

    # ------------------------------------------------------------------ files

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write an HDF5 file that `Trace.load` reads; an existing one is replaced as a whole.

        Raises:
            SceneError: The file cannot be written.
        """
        target = Path(path)
        draft = target.with_name(f"{target.name}.{secrets.token_hex(4)}.tmp")
        try:
            draft.touch()
            file = RowFile(draft, row_type(self._places, self.rows.shape[1]), self.meta)
            with file:
                file.append(self.rows)
                file.end({"end": self.meta.get("end", "finished")})
            draft.replace(target)
        except OSError as error:
            raise _unwritable(path, error) from None
        finally:
            draft.unlink(missing_ok=True)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """The trace of a file, also of one whose recording broke off.

        Raises:
            SceneError: The file is missing or not a trace, in one line.
        """
        rows, places, meta = read(path)
        return cls(rows, meta, meta["tools"], places=places)

    def to_csv(self, path: str | os.PathLike[str]) -> None:
        """Write a table of text: one line of names, one line per tick, every digit kept.

        Vectors become columns such as `tool.force.x`.
        """
        names, columns = self._table()
        try:
            with open(path, "w", encoding="utf-8", newline="\n") as file:
                file.write(",".join(f'"{name}"' if "," in name else name for name in names) + "\n")
                for row in zip(*(column.tolist() for column in columns), strict=True):
                    file.write(",".join(map(repr, row)) + "\n")
        except OSError as error:
            raise _unwritable(path, error) from None

    def to_parquet(self, path: str | os.PathLike[str]) -> None:
        """Write a Parquet table with the columns of `to_csv`, and `meta` as JSON under "tangere".

        Raises:
            SceneError: The file cannot be written, or pyarrow is not installed.
        """
        try:
            import pyarrow as pa
            import pyarrow.parquet as pq
        except ImportError:
            raise SceneError(
                "to_parquet needs pyarrow, which is not installed: pip install 'tangere[parquet]'"
            ) from None
        names, columns = self._table()
        table = pa.table(dict(zip(names, columns, strict=True)))
        table = table.replace_schema_metadata({"tangere": json.dumps(self.meta)})
        try:
            pq.write_table(table, os.fspath(path), compression="zstd")
        except OSError as error:
            raise _unwritable(path, error) from None

    def _table(self) -> tuple[list[str], list[NDArray[Any]]]:
        """Single numbers with their names, for tables without vectors."""
        names: list[str] = []
        columns: list[NDArray[Any]] = []
        for name, place in self._places.items():
            names += flat_names(name, place.width)
            values = self[name]
            columns += [values] if place.width == 1 else list(values.T)
        return names, [np.ascontiguousarray(column) for column in columns]

    # ------------------------------------------------------------------ at a glance

    def summary(self) -> Summary:
        """What happened, in numbers; printed, it is a short text."""
        return Summary(
            duration=self.duration,
            ticks=len(self),
            rate=self.rate,
            servo=None if self.virtual else _servo_summary(self),
            tools=tuple(_tool_summary(self.of(tool)) for tool in self.tools),
            faults=tuple(in_words(self.faults)),
            end=str(self.meta.get("end", "")),
        )

    def plot(self, path: str | os.PathLike[str] | None = None) -> Figure:
        """Force, torque, deviation, energy and lateness over time.

        Args:
            path: Also write the figure there; the suffix chooses the format.
        """
        from tangere.trace.figure import draw

        figure = draw(self)
        if path is not None:
            try:
                figure.savefig(os.fspath(path), dpi=144, facecolor="white")
            except (OSError, ValueError) as error:
                raise _unwritable(path, error) from None
        return figure


@dataclass(frozen=True)
class ToolSummary:
    """One tool over a whole session."""

    name: str
    peak_force: float  # sent to the device [N]
    mean_force: float
    peak_torque: float  # [N m]
    peak_deviation: float  # hand to grip [m]
    mean_deviation: float
    peak_angle: float  # [rad]
    peak_penetration: float  # [m]
    energy: float  # given by the hand until the end [J]
    least_energy: float  # lowest value on the way [J]
    least_net: float  # lowest share that the net left of the force


@dataclass(frozen=True)
class ServoSummary:
    """How the servo kept its time."""

    late_share: float  # of ticks later than 100 µs
    worst_late: float  # [s]
    tick_time: float  # median [s]
    missed: int

    def __str__(self) -> str:
        """One line of text."""
        return (
            f"{100 * self.late_share:.2f} % of ticks later than {1e6 * metrics.LATE:.0f} µs, "
            f"worst {1e6 * self.worst_late:.0f} µs; {self.missed} missed; "
            f"tick {1e6 * self.tick_time:.1f} µs"
        )


@dataclass(frozen=True)
class Summary:
    """A session at a glance; `print` shows it as text."""

    duration: float  # [s]
    ticks: int
    rate: float  # wanted [Hz]
    servo: ServoSummary | None  # None on the virtual clock, where no tick can be late
    tools: tuple[ToolSummary, ...]
    faults: tuple[str, ...]
    end: str

    def as_json(self) -> dict[str, Any]:
        """The same as plain data."""
        return asdict(self)

    def __str__(self) -> str:
        """A few lines of text."""
        lines = [
            f"session     {self.duration:.3f} s, {self.ticks} ticks at {self.rate:g} Hz",
            f"servo       {self.servo or 'virtual clock'}",
        ]
        for tool in self.tools:
            lines += [
                f"{tool.name:<11} force peak {tool.peak_force:.3f} N, mean {tool.mean_force:.3f} "
                f"N; torque peak {tool.peak_torque:.4f} N m",
                f"            deviation peak {1e3 * tool.peak_deviation:.2f} mm, mean "
                f"{1e3 * tool.mean_deviation:.2f} mm, {tool.peak_angle:.3f} rad; "
                f"penetration peak {1e3 * tool.peak_penetration:.3f} mm",
                f"            energy from the hand {tool.energy:.4g} J, lowest "
                f"{tool.least_energy:.4g} J; the net left {100 * tool.least_net:.0f} % at least",
            ]
        lines += [f"faults      {self.faults[0] if self.faults else 'none'}"]
        lines += [f"            {fault}" for fault in self.faults[1:]]
        return "\n".join([*lines, f"end         {self.end}"] if self.end else lines)


def _servo_summary(trace: Trace) -> ServoSummary:
    ticks = len(trace)
    return ServoSummary(
        late_share=metrics.late_share(trace),
        worst_late=float(trace["servo.late"].max()) if ticks else 0.0,
        tick_time=float(np.median(trace["servo.duration"])) if ticks else 0.0,
        missed=int(trace["servo.missed"].sum()),
    )


def _tool_summary(one: Trace) -> ToolSummary:
    force = np.linalg.norm(one["device.force"], axis=1)
    apart = metrics.deviation(one)
    observed = one["energy.observed"]

    def peak(values: Array) -> float:
        return float(values.max(initial=0.0))

    return ToolSummary(
        name=one.tools[0],
        peak_force=peak(force),
        mean_force=float(force.mean()) if len(one) else 0.0,
        peak_torque=peak(np.linalg.norm(one["device.torque"], axis=1)),
        peak_deviation=peak(apart),
        mean_deviation=float(apart.mean()) if len(one) else 0.0,
        peak_angle=peak(metrics.angle_deviation(one)),
        peak_penetration=peak(metrics.penetration(one)),
        energy=float(observed[-1]) if len(one) else 0.0,
        least_energy=float(observed.min(initial=0.0)),
        least_net=float(one["servo.net"].min(initial=1.0)) if "servo.net" in one else 1.0,
    )


def _unwritable(path: str | os.PathLike[str], error: Exception) -> SceneError:
    return SceneError(f"{one_line(path)}: cannot write ({one_line(error)}); choose another path")
