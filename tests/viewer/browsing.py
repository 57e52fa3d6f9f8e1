"""A real browser for tests of the page: how it is started, and where things are on its screen."""

from __future__ import annotations

import contextlib
import io
import os
import shutil
import threading
from collections import deque
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from tangere.viewer.host import Host, Source
from tangere.viewer.stage import CAMERA, CAMERA_ANGLE, CAMERA_TARGET

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
FLAGS = [
    "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader",
    "--no-sandbox",
    # Containers often have 64 MB of shared memory: too little for pictures of this size.
    "--disable-dev-shm-usage",
    # It ends a graphics process that does not answer for seconds, as on a loaded machine ours may.
    "--disable-gpu-watchdog",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
# Said by the library's camera controls when the mouse goes down on the scene; harmless. Nothing
# else is forgiven: a graphics process that dies is told as a warning, and makes no errors.
KNOWN = "Unable to preventDefault inside passive event listener"
PATIENCE = 60.0  # [s] for a picture drawn without a graphics processor on a loaded machine

needs_chromium = pytest.mark.skipif(
    CHROMIUM is None, reason="needs Chromium: apt-get install chromium"
)


@contextlib.contextmanager
def showing(host: Host, source: Source) -> Iterator[None]:
    """While open, a page of its own process shows the source."""
    stop = threading.Event()
    host.open()
    host.show(source)
    feeding = threading.Thread(target=host.run, args=(None, stop))
    feeding.start()
    try:
        yield
    finally:
        stop.set()
        feeding.join()
        host.close()


@contextlib.contextmanager
def open_page(address: str) -> Iterator[tuple[Any, list[str]]]:
    """The page in Chromium, and what the browser complains about."""
    playwright = pytest.importorskip("playwright.sync_api")
    complaints: list[str] = []
    said: deque[str] = deque(maxlen=5)

    def hear(message: Any) -> None:
        """An error is kept with its place and with what was said before: it may not come again."""
        if message.type == "error" and KNOWN not in message.text:
            where = message.location.get("url", "")
            complaints.append(f"{message.text} [{where}; before: {list(said)}]")
        said.append(f"{message.type}: {message.text}")

    # Nobody's browser is a child of the session, nor kept off the core of its servo.
    os.sched_setaffinity(0, range(os.cpu_count() or 1))
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        page = browser.new_page(viewport={"width": 900, "height": 620})
        page.set_default_timeout(1000 * PATIENCE)
        page.on("console", hear)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on(
            "request",
            lambda request: (
                complaints.append(f"leaves the machine: {request.url}")
                if not request.url.startswith((address, "data:", "blob:"))
                else None
            ),
        )
        page.goto(address)
        page.get_by_role("button", name="Pause", exact=True).wait_for()
        # The note that this machine draws in software would lie over the scene.
        page.add_style_tag(content=".mantine-Notifications-root { display: none }")
        yield page, complaints
        browser.close()


def picture(page: Any, what: str) -> np.ndarray:
    """Pixels of the first element of that kind, shape (height, width, 3)."""
    from PIL import Image

    png = page.locator(what).first.screenshot(timeout=1000 * PATIENCE)
    return np.asarray(Image.open(io.BytesIO(png)).convert("RGB"), dtype=int)


def on_screen(point: np.ndarray, box: dict[str, float]) -> tuple[float, float]:
    """Where the camera of a fresh page sees a point [drawing units], in pixels."""
    sight = np.array(CAMERA_TARGET) - np.array(CAMERA)
    sight /= np.linalg.norm(sight)
    right = np.cross(sight, [0.0, 0.0, 1.0])
    right /= np.linalg.norm(right)
    up = np.cross(right, sight)
    away = point - np.array(CAMERA)
    half = 0.5 * box["height"] / np.tan(0.5 * CAMERA_ANGLE) / float(away @ sight)
    x = box["x"] + 0.5 * box["width"] + half * float(away @ right)
    return x, box["y"] + 0.5 * box["height"] - half * float(away @ up)
