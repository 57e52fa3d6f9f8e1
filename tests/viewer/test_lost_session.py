"""A page whose session hangs or dies says so, in a real browser."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest
from viewer.browsing import needs_chromium, open_page

pytestmark = [pytest.mark.browser, needs_chromium]

SCRIPT = """
import sys, threading
sys.path.insert(0, {folder!r})
from viewer.test_host import Still
from tangere.viewer.host import Host
host = Host({{"blocks": ""}})
host.open()
host.show(Still())
print(host.address, flush=True)
host.run(600.0, threading.Event())
"""


def test_a_session_that_hangs_or_dies_is_missed_in_words() -> None:
    script = SCRIPT.format(folder=str(Path(__file__).parents[1]))
    with subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, text=True
    ) as running:
        assert running.stdout is not None
        try:
            with open_page(running.stdout.readline().strip()) as (page, _):
                running.send_signal(signal.SIGSTOP)
                page.get_by_text("The session does not answer").wait_for()
                running.send_signal(signal.SIGCONT)
                page.get_by_text("The session does not answer").wait_for(state="detached")
                running.kill()
                page.get_by_text("The session has ended unexpectedly").wait_for()
        finally:
            running.kill()
