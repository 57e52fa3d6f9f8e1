"""Draw the pictures of the documentation: `python docs/pictures/make.py [NAME ...]`.

Each picture is a scene after a fixed number of steps, as the page of `tangere play` shows it in
Chromium. Needs the development tools and a Chromium on the path.
"""

from __future__ import annotations

import shutil
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tangere.viewer.app import Page, page_builder
from tangere.viewer.runner import Runner, Settings

HERE = Path(__file__).resolve().parent
FLAGS = (
    "--use-angle=swiftshader --enable-unsafe-swiftshader --no-sandbox --disable-quic "
    "--no-first-run --disable-background-networking --disable-component-update --disable-sync"
)
PANEL = 324  # [px] width of the panel beside the scene
SETTLE = 3000  # [ms] between two shots of a still scene; equal ones mean that it is complete
PATIENCE = 120_000  # [ms] for one shot without a graphics processor
PUSH = (
    5,
    np.array([-0.14, 0.1, 0.0]),
    0.8,
)  # body, impulse [N s] and time [s] in the page's picture


@dataclass(frozen=True)
class Picture:
    """A scene, the time [s] and size [px]; with the panel, a push and the plot."""

    scene: str
    seconds: float
    size: tuple[int, int] = (1000, 700)
    panel: bool = False


PICTURES = {
    "page": Picture("blocks", 1.02, size=(1500, 1200), panel=True),
    "blocks": Picture("blocks", 0.5),
    "block-tower": Picture("block-tower", 1.0, size=(700, 800)),
    "falling-cube": Picture("falling-cube", 0.52),
    "spinning-block": Picture("spinning-block", 0.15),
    "mixed-shapes": Picture("mixed-shapes", 1.5),
    "dominoes": Picture("dominoes", 0.6),
    "heap": Picture("heap", 2.0),
    "wall": Picture("wall", 1.0),
    "arch": Picture("arch", 1.0),
    "card-house": Picture("card-house", 1.0, size=(800, 800)),
    "slope": Picture("slope", 0.4),
    "stick-slip": Picture("stick-slip", 1.4),
    "spinning-top": Picture("spinning-top", 0.5),
}


def draw(browser: Any, name: str, picture: Picture) -> Path:
    """Write one picture."""
    first, build = page_builder(picture.scene)
    built = build(Settings(first))
    if not picture.panel:
        built.simulation.step(round(picture.seconds / built.simulation.dt))
    runner = Runner(built.settings, lambda _: built)
    runner.pause(not picture.panel)
    page = Page(runner)
    stop = threading.Event()
    drawing = threading.Thread(target=page.run, args=(None, stop))
    drawing.start()
    path = HERE / f"{name}.png"
    try:
        if picture.panel:
            play_to_the_end(runner, picture.seconds)
        width, height = picture.size
        width += 0 if picture.panel else PANEL
        view = browser.new_page(viewport={"width": width, "height": height})
        view.set_default_timeout(PATIENCE)
        view.goto(page.address)
        view.get_by_role("button", name="Reset", exact=True).wait_for()
        # The note about software rendering is about the machine that draws, not about the page.
        view.add_style_tag(content=".mantine-Notifications-root { display: none }")
        if not picture.panel:
            view.add_style_tag(content="* { box-shadow: none !important }")
            view.add_style_tag(content=".mantine-Paper-root { visibility: hidden !important }")
        target = view if picture.panel else view.locator("canvas").first
        before = b""
        while (now := target.screenshot(path=path)) != before:
            before = now
            view.wait_for_timeout(SETTLE)
        view.close()
    finally:
        stop.set()
        drawing.join()
        page.close()
    return path


def play_to_the_end(runner: Runner, seconds: float) -> None:
    """Let the scene run in real time, push a body on the way, and stop it."""
    body, impulse, moment = PUSH
    while runner.frame.time < moment:
        time.sleep(0.002)
    runner.push(body, impulse)
    while runner.frame.time < seconds:
        time.sleep(0.002)
    runner.pause(True)


def main(names: list[str]) -> None:
    """Draw the named pictures, or all."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        browser = driver.chromium.launch(
            executable_path=shutil.which("chromium"), args=FLAGS.split()
        )
        for name in names or list(PICTURES):
            sys.stdout.write(f"{draw(browser, name, PICTURES[name])}\n")
            sys.stdout.flush()
        browser.close()


if __name__ == "__main__":
    main(sys.argv[1:])
