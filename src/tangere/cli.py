"""The command line: `tangere play | scenes | prepare | replay | compare | …`."""

from __future__ import annotations

import dataclasses
import json
import math
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table
from typer.core import TyperCommand

from tangere.errors import DeviceError, SceneError

if TYPE_CHECKING:
    from tangere.devices.device import DeviceInfo
    from tangere.doctor import Diagnosis
    from tangere.experiments.experiment import Outcome, Tell
    from tangere.prepare import Report as Prepared

FAILED = 1  # a claim fails
WRONG_INPUT = 2  # the command, a name, a file or a value
NOT_RUN = 3  # every claim that was tried holds, but an experiment could not be run
SIGNALLED = 128  # plus the number of the signal, as a shell reports it
INTERRUPTED = SIGNALLED + signal.SIGINT  # Ctrl-C

app = typer.Typer(
    name="tangere",
    help="Real-time haptic rendering and contact simulation.",
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


def main(arguments: list[str] | None = None) -> None:
    """Run the command line; every error is one line on stderr, a traceback only with `--debug`."""
    with _ended_by_signals() as which_signal:
        _run(arguments, which_signal)


@contextmanager
def _ended_by_signals() -> Iterator[Callable[[], int]]:
    """While open, SIGTERM and SIGHUP are met like Ctrl-C: everything is put away first.

    Gives a function that tells which signal it was. One that is ignored, as `nohup` does, stays so.
    """
    caught: list[int] = []

    def end(number: int, _: object) -> None:
        for other in former:  # what is being put away is not interrupted again
            signal.signal(other, signal.SIG_IGN)
        caught.append(number)
        raise KeyboardInterrupt

    wanted = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    former = {number: signal.getsignal(number) for number in wanted}
    former = {number: was for number, was in former.items() if was is not signal.SIG_IGN}
    for number in former:
        signal.signal(number, end)
    try:
        yield lambda: caught[0] if caught else signal.SIGINT
    finally:
        for number, was in former.items():
            signal.signal(number, was)


def _run(arguments: list[str] | None, which_signal: Callable[[], int]) -> None:
    given = sys.argv[1:] if arguments is None else list(arguments)
    debug = "--debug" in given  # wherever it stands
    given = [word for word in given if word != "--debug"]
    try:
        code = app(args=given or ["--help"], prog_name="tangere", standalone_mode=False)
    except typer.Exit as stop:
        sys.exit(stop.exit_code)
    except (KeyboardInterrupt, typer.Abort):
        code = INTERRUPTED
    except Exception as error:
        if debug:
            raise
        sys.stderr.write(f"tangere: {_one_line(error)}\n")
        sys.exit(WRONG_INPUT)
    if code == INTERRUPTED:  # so does Typer tell
        sys.stderr.write("tangere: stopped\n")
        code = SIGNALLED + which_signal()
    sys.exit(code or 0)


def _one_line(error: Exception) -> str:
    """What went wrong in one line, with the remedy where the error has none of its own."""
    if hasattr(error, "format_message"):  # the command line was not understood
        text = f"{error.format_message()} (see tangere --help)"
    elif isinstance(error, (SceneError, DeviceError)):
        text = str(error)
    elif isinstance(error, OSError):
        text = f"{error.filename or ''}: {error.strerror or error}".lstrip(": ")
    else:
        text = f"{type(error).__name__}: {error} (tangere --debug shows where)"
    return " ".join(text.split())


def _version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"tangere {version('tangere')}")
        raise typer.Exit


@app.callback()
def _top(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show tracebacks of errors.")] = False,
) -> None:
    """Real-time haptic rendering and contact simulation."""


# ---------------------------------------------------------------- scenes


@app.command()
def scenes() -> None:
    """List the built-in scenes."""
    from tangere.scene.library import SCENES

    table = Table(box=None, show_header=False, pad_edge=False)
    for name, entry in SCENES.items():
        table.add_row(f"[bold]{escape(name)}[/bold]", escape(entry.description))
    Console(soft_wrap=True).print(table)


# ---------------------------------------------------------------- methods


@app.command("methods")
def list_methods() -> None:
    """List the contact methods: what each does, its paper, its steps, what it takes."""
    from tangere.contact.method import methods

    table = Table(box=None, pad_edge=False, header_style="dim")
    for title in ("method", "what it does", "paper", "steps", "bodies", "parts"):
        table.add_column(title, overflow="fold", no_wrap=title == "method")
    for name, record in methods.items():
        table.add_row(
            f"[bold]{escape(name)}[/bold]",
            escape(record.words),
            escape(record.citation),
            escape(", ".join(record.steppers) or "none: for a tool in a hand"),
            escape(", ".join(sorted(record.bodies))),
            escape(", ".join(sorted(record.parts))),
        )
    Console(highlight=False).print(table)


class NamesMethods(TyperCommand):
    """A command whose help names the methods: those of other packages too, so not before it."""

    def get_help(self, ctx: Any) -> str:
        """The help, with the names."""
        from tangere.contact.method import methods

        return super().get_help(ctx).replace("METHODS", ", ".join(methods))


# ---------------------------------------------------------------- play


@app.command(cls=NamesMethods)
def play(
    scene: Annotated[
        str, typer.Argument(help="Built-in scene, a .toml file, or a mesh file to be felt.")
    ] = "blocks",
    method: Annotated[
        str | None,
        typer.Option(help="Contact method, one of: METHODS; default: what suits."),
    ] = None,
    integrator: Annotated[
        str | None,
        typer.Option(help="Step: implicit (any stiffness) or explicit (the papers')."),
    ] = None,
    seconds: Annotated[
        float | None, typer.Option(min=0.0, help="Stop after this time and print the summary [s].")
    ] = None,
    *,
    device: Annotated[
        list[str] | None,
        typer.Option(help="What holds the tools; once for all, or once for each."),
    ] = None,
    rate: Annotated[float, typer.Option(help="Rate of the haptic loop [Hz].")] = 1000.0,
    record: Annotated[Path | None, typer.Option(help="File to record the hands into.")] = None,
    headless: Annotated[
        bool,
        typer.Option("--headless", help="No page: run as fast as possible and print the summary."),
    ] = False,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port of the page.")] = 8080,
    dt: Annotated[float, typer.Option(help="Step of the scene [s].")] = 1e-3,
    no_process: Annotated[
        bool,
        typer.Option(
            "--no-process", help="Drive devices from this process, not from one of their own."
        ),
    ] = False,
    reconnect: Annotated[
        bool, typer.Option("--reconnect", help="Open a device again that was lost.")
    ] = False,
    scale: Annotated[
        float, typer.Option(help="Of a mesh file: metres per unit, 0.001 for millimetres.")
    ] = 1.0,
    shell: Annotated[
        float | None,
        typer.Option(help="Of a mesh file: take its surface for a shell of this thickness [m]."),
    ] = None,
) -> None:
    """Open an interactive scene in the browser."""
    from tangere.scene.library import SCENES, build
    from tangere.viewer.app import play as start

    if Path(scene).suffix == "" and scene not in SCENES:
        build(scene)  # says which name was meant
    devices = device or ["browser"]
    start(
        scene,
        method=method,
        integrator=integrator,
        device=devices[0] if len(devices) == 1 else devices,
        rate=rate,
        seconds=seconds,
        record=record,
        headless=headless,
        port=port,
        dt=dt,
        process=not no_process,
        reconnect=reconnect,
        scale=scale,
        shell=shell,
    )


# ---------------------------------------------------------------- prepare


@app.command()
def prepare(
    file: Annotated[Path, typer.Argument(help="A mesh file.")],
    scale: Annotated[
        float, typer.Option(help="Metres per unit of the file, 0.001 for millimetres.")
    ] = 1.0,
    shell: Annotated[
        float | None,
        typer.Option(help="Take its surface for a shell of this thickness [m]."),
    ] = None,
    spacing: Annotated[
        float | None, typer.Option(help="Of the distance field [m]; default: from the mesh.")
    ] = None,
    samples: Annotated[int, typer.Option(help="About how many points it may have.")] = 8192,
    tolerance: Annotated[
        float, typer.Option(help="Distance from which contacts press [m].")
    ] = 0.5e-3,
    levels: Annotated[bool, typer.Option("--levels", help="Contact levels of detail too.")] = False,
    pieces: Annotated[
        bool,
        typer.Option("--pieces", help="Convex pieces too, for the volume method: takes minutes."),
    ] = False,
) -> None:
    """Check a mesh and compute now what contact needs of it; kept in the cache."""
    from tangere.prepare import prepare as make_ready

    with _bar(file.name) as tell:
        report = make_ready(
            file,
            scale=scale,
            shell=shell,
            spacing=spacing,
            samples=samples,
            tolerance=tolerance,
            levels=levels,
            pieces=pieces,
            tell=tell,
        )
    _show_prepared(report)


def _show_prepared(report: Prepared) -> None:
    """What a mesh is, what was made of it, and where that is kept."""
    console = Console(highlight=False, soft_wrap=True)
    size = " × ".join(f"{1e3 * side:.4g}" for side in report.size)
    parts = "1 closed surface" if report.parts == 1 else f"{report.parts} closed surfaces"
    console.print(f"[bold]{escape(str(report.file))}[/bold]")
    console.print(
        f"  {report.triangles:,} triangles, {size} mm, {parts}, faces outwards, "
        f"{1e6 * report.volume:.4g} cm³ inside"
    )
    for line in report.repairs or ("not needed",):
        console.print(f"  repair: {escape(line)}")
    table = Table(box=None, pad_edge=False, header_style="dim")
    for title in ("stage", "result", "time", "peak memory"):
        table.add_column(title, overflow="fold", justify="right" if "m" in title[:5] else "left")
    for stage in report.stages:
        taken = "in the cache" if stage.stored else f"{stage.seconds:.2f} s"
        peak = f"{stage.peak / 1e6:,.0f} MB" if stage.peak else ""
        table.add_row(stage.name, escape(stage.found), taken, peak)
    console.print(table)
    own = sum(path.stat().st_size for path in report.files)
    console.print(
        f"[dim]kept in {escape(str(report.folder))}: {own / 1e6:.3g} MB of this mesh, "
        f"{report.folder_size / 1e6:.3g} MB of all[/dim]"
    )


# ---------------------------------------------------------------- replay


@app.command(cls=NamesMethods)
def replay(
    trace: Annotated[Path, typer.Argument(help="A recorded session (.h5).")],
    method: Annotated[
        str | None,
        typer.Option(help="Another contact method than the recorded one, one of: METHODS."),
    ] = None,
    record: Annotated[Path | None, typer.Option(help="Save the new trace to this file.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Let the recorded hand move again, with the same or another method."""
    from tangere.session.replay import replay as play_again
    from tangere.trace.trace import Trace

    with _bar("replay"):
        now = play_again(trace, method)
        if record is not None:
            now.save(record)
    new, old = now.hash(), Trace.load(trace).hash()
    if as_json:
        answer = {"hash": new, "recorded_hash": old, "same": new == old}
        typer.echo(json.dumps({**answer, "summary": now.summary().as_json()}, indent=2))
        return
    typer.echo(str(now.summary()))
    typer.echo(f"hash        {new}")
    typer.echo("            " + ("as recorded" if new == old else f"recorded: {old}"))


# ---------------------------------------------------------------- compare


@app.command(cls=NamesMethods)
def compare(
    trace: Annotated[Path, typer.Argument(help="A recorded session, or scripted: peg-in-hole.")],
    methods: Annotated[
        str, typer.Option(metavar="NAME,NAME:OPTION=VALUE,…", help="Of METHODS; default: all.")
    ] = "",
    out: Annotated[
        Path | None,
        typer.Option(help="Folder of the report; default `comparison`, with --json none."),
    ] = None,
    record: Annotated[
        Path | None, typer.Option(help="Save what was compared, such as a scripted hand.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """One recorded hand under several methods: forces, energy, contacts, times in one report."""
    from tangere.compare.comparison import compare as run
    from tangere.compare.report import show, write

    folder = out if out is not None or as_json else Path("comparison")
    if folder is not None and folder.exists() and not folder.is_dir():
        raise SceneError(f"--out {folder} is a file: give a folder")
    with _bar("compare") as tell:
        found = run(trace, [name for name in methods.split(",") if name.strip()], tell=tell)
        page = None if folder is None else write(found, folder)
        if record is not None:
            found.then.save(record)
    if as_json:
        typer.echo(json.dumps(found.as_json(), indent=2))
        return
    show(found)
    typer.echo(f"report: {page}")


# ---------------------------------------------------------------- reproduce


@app.command()
def reproduce(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="[NAME... | all]", help="Experiments; default all."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Folder of the report; default `report`, with --json none."),
    ] = None,
    data: Annotated[
        str, typer.Option(envvar="TANGERE_DATA", help="Folder of measurements (cube-toss).")
    ] = "",
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Run the papers' experiments: a table of claims with verdicts, figures and an HTML report."""
    from tangere.experiments.experiment import reproduce as run
    from tangere.experiments.registry import select

    chosen, not_run = [], {}
    for experiment in select(names or []):
        params = _with_data(experiment.params, data)
        lacking = experiment.missing(params)
        if lacking and experiment.name in (names or []):
            raise SceneError(lacking)
        if lacking:
            sys.stderr.write(f"tangere: not run: {lacking}\n")
            not_run[experiment.name] = lacking
        else:
            chosen.append((experiment, params))
    folder = out if out is not None or as_json else Path("report")
    if folder is not None and folder.exists() and not folder.is_dir():
        raise SceneError(f"--out {folder} is a file: give a folder")
    outcomes: list[Outcome] = []
    for experiment, params in chosen:
        with _bar(experiment.name) as tell:
            outcome = run(experiment, params, tell)
        outcomes.append(outcome)
        if not as_json:
            _show(outcome)
    if folder is not None:
        from tangere.experiments.report import write

        with _bar("report"):
            page = write(outcomes, folder, not_run)
        if not as_json:
            typer.echo(f"report: {page}")
    if as_json:
        answers: list[dict[str, Any]] = [outcome.as_json() for outcome in outcomes]
        answers += [{"name": name, "claims": [], "not_run": why} for name, why in not_run.items()]
        typer.echo(json.dumps(answers[0] if len(answers) == 1 else answers, indent=2))
    elif not_run:
        typer.echo(f"{len(not_run)} not run: {'; '.join(not_run.values())}")
    if not all(outcome.passed for outcome in outcomes):
        raise typer.Exit(FAILED)
    if not_run:
        raise typer.Exit(NOT_RUN)


def _with_data(params: Any, folder: str) -> Any:
    """The parameters, with the folder of measurements where they have a place for it."""
    named = folder and hasattr(params, "data")
    return dataclasses.replace(params, data=folder) if named else params


@contextmanager
def _bar(name: str) -> Iterator[Tell]:
    """A progress bar on stderr that goes away when its work is done."""
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (
        SpinnerColumn(),
        TextColumn("[bold]{task.description}[/bold]"),
        BarColumn(bar_width=24),
        TimeElapsedColumn(),
        TextColumn("{task.fields[doing]}"),
    )
    console = Console(stderr=True)
    with Progress(
        *columns, console=console, transient=True, disable=not console.is_terminal
    ) as progress:
        task = progress.add_task(name, total=1.0, doing="")

        def tell(done: float, doing: str) -> None:
            progress.update(task, completed=done, doing=escape(doing))

        yield tell


def _show(outcome: Outcome) -> None:
    """Claims and the numbers beside them as tables on the terminal."""
    from tangere.experiments.experiment import MARKS, tally
    from tangere.experiments.report import number

    styles = {"holds": "green", "fails": "bold red", "calibrated": "yellow"}
    console = Console()
    console.print(
        f"\n[bold]{outcome.experiment.name}[/bold]  [dim]{escape(outcome.experiment.paper)}[/dim]"
    )
    table = Table(box=None, pad_edge=False, header_style="dim")
    for title in ("claim", "paper", "here", "verdict"):
        table.add_column(title, overflow="fold", no_wrap=title == "verdict")
    for claim in outcome.claims:
        style = styles[claim.verdict]
        text = escape(claim.text)
        if claim.calibrated:
            text += f"\n[dim]calibrated: {escape(claim.calibrated)}[/dim]"
        table.add_row(
            text,
            escape(claim.paper),
            number(claim.measured, claim.unit),
            f"[{style}]{MARKS[claim.verdict]} {claim.verdict}[/{style}]",
        )
    console.print(table)
    console.print(tally(claim.verdict for claim in outcome.claims))
    if outcome.beside:
        console.print("\n[dim]beside: shown, not judged[/dim]")
        others = Table(box=None, pad_edge=False, show_header=False)
        for reading in outcome.beside:
            others.add_row(
                escape(reading.what), escape(reading.who), number(reading.measured, reading.unit)
            )
        console.print(others)
    console.print(f"[dim]{outcome.seconds:.1f} s[/dim]")


# ---------------------------------------------------------------- bench


@app.command()
def bench(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[NAME...]", help="Benchmarks; default all.")
    ] = None,
    rounds: Annotated[
        int | None, typer.Option(min=1, help="Turns of each contestant; more give better tails.")
    ] = None,
    stages: Annotated[
        bool, typer.Option("--stages", help="Show where the time of our steps goes, too.")
    ] = False,
    against: Annotated[
        Path | None, typer.Option(metavar="PATH", help="Another checkout, for versions.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Measure speed and its spread, beside each other engine that is installed."""
    from tangere.bench import run

    run(names or [], as_json=as_json, rounds=rounds, stages=stages, against=against)


# ---------------------------------------------------------------- devices


@app.command()
def devices(
    test: Annotated[
        str, typer.Option("--test", metavar="NAME", help="Look at one device; no force is sent.")
    ] = "",
    seconds: Annotated[
        float, typer.Option(min=0.05, max=600.0, help="How long --test looks [s].")
    ] = 1.0,
) -> None:
    """List the devices: what is connected, what is missing, limits."""
    if test:
        _test_device(test, seconds)
        return
    from tangere.devices.registry import available

    table = Table(box=None, pad_edge=False, header_style="dim")
    for title in ("device", "what it is", "connected", "senses / drives", "limits"):
        table.add_column(title, overflow="fold", no_wrap=title == "device")
    missing = []
    for line in available():
        found = escape(line.connected) if line.connected else "[dim]no[/dim]"
        dofs = f"{line.info.sensed} / {line.info.actuated}"
        table.add_row(f"[bold]{line.name}[/bold]", line.what, found, dofs, _limits(line.info))
        if line.problem:
            missing.append(line.problem)
    console = Console(highlight=False)
    console.print(table)
    for problem in missing:
        console.print(f"[dim]{escape(problem)}[/dim]", soft_wrap=True)


def _limits(info: DeviceInfo) -> str:
    """Force, torque, stiffness and workspace, as far as there are any."""
    parts = {
        "N": info.max_force,
        "N m": info.max_torque,
        "N/m": info.stiffness,
    }
    texts = [f"{value:g} {unit}" for unit, value in parts.items() if 0.0 < value < math.inf]
    reach = f"radius {info.radius:g} m" if math.isfinite(info.radius) else "any reach"
    return ", ".join([*(texts or ["no force" if info.max_force == 0.0 else "no limit"]), reach])


def _test_device(name: str, seconds: float) -> None:
    from tangere.devices.registry import find
    from tangere.devices.selftest import self_test

    with _bar(name) as tell:
        seen = self_test(find(name), seconds, lambda done: tell(done, "move the hand: no force"))
    console = Console(highlight=False)
    console.print(f"[bold]{escape(seen.info.name)}[/bold]  {escape(_limits(seen.info))}")
    if seen.rate > 0.0:
        sides = zip("xyz", seen.low, seen.high, strict=True)
        span = ", ".join(f"{axis} {1e3 * a:.1f} … {1e3 * b:.1f}" for axis, a, b in sides)
        console.print(f"{seen.rate:.0f} samples/s for {seen.seconds:.1f} s; only zero force sent")
        console.print(f"position {span} mm; turned by {math.degrees(seen.turned):.1f}°")
        console.print(f"buttons pressed: {seen.buttons.bit_count()}")
    console.print("[green]good[/green]" if seen.passed else f"[red]{escape(seen.fault)}[/red]")
    if not seen.passed:
        raise typer.Exit(FAILED)


# ---------------------------------------------------------------- doctor


@app.command()
def doctor(
    seconds: Annotated[
        float, typer.Option(min=0.01, max=600.0, help="How long each loop is watched [s].")
    ] = 5.0,
) -> None:
    """Can this machine hold the rate? Versions, jitter of the servo, missing parts, advice."""
    from tangere.doctor import RATE, examine

    with _bar("doctor") as tell:
        tell(0.0, f"watching two {RATE:g} Hz loops for {seconds:g} s each")
        found = examine(seconds)
    _show_diagnosis(found)


def _show_diagnosis(found: Diagnosis) -> None:
    console = Console(highlight=False)
    table = Table(box=None, show_header=False, pad_edge=False)
    load = "" if found.load is None else f", load {found.load:.2f}"
    rows = {
        "tangere": f"{found.tangere} on Python {found.python}",
        "system": found.system,
        "processor": f"{found.processor}, {found.cores} cores{load}",
        "libraries": ", ".join(
            f"{part.name} {part.version or 'missing'}" for part in found.required
        ),
        "optional": "\n".join(
            f"{part.name} {part.version}"
            if part.version
            else f"{part.name}: not installed, {part.purpose}"
            for part in found.optional
        ),
        "browser": found.browser or "none found",
        "cache": f"{found.cache}: {found.cache_size / 1e6:.1f} MB, "
        f"{'kernels' if found.compiled else 'no kernels'} compiled for these sources",
    }
    for name, text in rows.items():
        table.add_row(f"[bold]{name}[/bold]", escape(text))
    console.print(table)
    _show_jitter(console, found)
    console.print("\n[bold]advice[/bold]")
    for line in found.advice:
        console.print(f"  · {escape(line)}")


def _show_jitter(console: Console, found: Diagnosis) -> None:
    """Two loops side by side, one that only waits and that of a session; answers at a device."""
    from tangere.doctor import BINS, RATE

    console.print(f"\n[bold]servo[/bold]  {RATE:g} Hz; {escape(str(found.full.granted))}")
    table = Table(box=None, pad_edge=False, header_style="dim")
    for title in ("", "empty loop", "session"):
        table.add_column(title, justify="right" if title else "left")
    loops = (found.empty.counters, found.full.counters)
    for name, cells in (
        ("ticks", [str(c.ticks) for c in loops]),
        ("missed, left out", [str(c.missed) for c in loops]),
        ("later than 100 µs", [f"{100 * c.late_share:.3g} %" for c in loops]),
        ("late by p50", [_duration(c.lateness.p50) for c in loops]),
        ("p99", [_duration(c.lateness.p99) for c in loops]),
        ("p99.9", [_duration(c.lateness.p999) for c in loops]),
        ("worst", [_duration(c.lateness.worst) for c in loops]),
        ("median tick", [_duration(c.duration.p50) for c in loops]),
    ):
        table.add_row(name, *cells)
    console.print(table)
    if found.answers is not None:
        p50, p99, worst = map(_duration, found.answers.percentiles)
        console.print(
            f"\n[bold]device[/bold]  from a step of the grip to the force that answers it: p50 "
            f"{p50}, p99 {p99}, worst {worst}; {found.answers.rate:.0f} commands a second"
        )
    console.print("\n[dim]ticks by lateness[/dim]")
    labels = (*(f"≤ {_duration(b)}" for b in BINS), "more")
    for label, idle, busy in zip(labels, found.empty.histogram, found.full.histogram, strict=True):
        share = busy / loops[1].ticks
        bar = "█" * round(30 * share) or ("▏" if busy else "")
        console.print(f"  {label:>9}  {idle:7d}  {busy:7d}  [cyan]{bar}[/cyan]")


def _duration(seconds: float) -> str:
    return f"{1e6 * seconds:.3g} µs" if seconds < 1e-3 else f"{1e3 * seconds:.3g} ms"


if __name__ == "__main__":
    main()
