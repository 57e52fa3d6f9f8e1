"""`tangere play` that a signal ends: everything is put away, and nothing is left to complain of."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tangere._jit import JIT_DISABLED
from tangere.trace.trace import Trace

pytestmark = [
    pytest.mark.skipif(JIT_DISABLED, reason="plain Python cannot keep the pace of a servo"),
    pytest.mark.skipif(sys.platform == "win32", reason="no such signals"),
]

# The command line, telling when a frame has gone to the page: then the shared memory is there.
SCRIPT = """
import sys
from tangere import cli
from tangere.viewer.host import Host
turn = Host.turn
def told(self):
    turn(self)
    print("running", flush=True)
Host.turn = told
cli.main(sys.argv[1:])
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_the_session_and_its_page(tmp_path: Path, number: signal.Signals) -> None:
    """A session with a hand that is recorded: device, file, shared memory and page are closed."""
    record = tmp_path / "a.h5"
    arguments = ["play", "blocks", "--port", "0", "--record", str(record)]
    with subprocess.Popen(
        [sys.executable, "-c", SCRIPT, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as running:
        try:
            assert running.stdout is not None
            lines = iter(running.stdout.readline, "")
            assert "running\n" in lines, "it never ran"
            running.send_signal(number)
            # kernels may be compiling for the first time
            out, err = running.communicate(timeout=240.0)
        finally:
            running.kill()
    assert err == "", "such as a warning of leaked shared memory"
    assert running.returncode == 0
    assert "simulated" in out, "the summary"
    trace = Trace.load(record)
    assert trace.meta["end"] == "stopped"
    assert trace.meta["recording"] == "complete"
