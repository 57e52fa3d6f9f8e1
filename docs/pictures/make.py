"""Draw the pictures of the documentation: `python docs/pictures/make.py [NAME ...]`.

Each picture is a scene after a fixed number of steps, as the page of `tangere play` shows it in
Chromium. Needs the development tools and a Chromium on the path.
"""

from __future__ import annotations

import contextlib
import shutil
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tangere.devices.browser import Page as Hand
from tangere.viewer.app import described, page_builder, page_scenes, preferred_method
from tangere.viewer.frame import Settings
from tangere.viewer.held_session import HeldSession
from tangere.viewer.host import Host, Source
from tangere.viewer.runner import Runner

HERE = Path(__file__).resolve().parent
FLAGS = (
    "--use-angle=swiftshader --enable-unsafe-swiftshader --no-sandbox --disable-quic "
    "--no-first-run --disable-background-networking --disable-component-update --disable-sync"
)
PANEL = 324  # [px] width of the panel beside the scene
SETTLE = 3000  # [ms] between two shots of a still scene; equal ones mean that it is complete
FADE = 20_000  # [ms] until the page no longer fades in
PATIENCE = 120_000  # [ms] for one shot without a graphics processor


@dataclass(frozen=True)
class Picture:
    """A scene, the time [s] and size [px]; with the panel, and where a hand goes [m]."""

    scene: str
    seconds: float
    size: tuple[int, int] = (1000, 700)
    panel: bool = False
    way: tuple[float, float, float] = (0.0, 0.0, 0.0)


PICTURES = {
    "first-look": Picture("blocks", 0.5, size=(1400, 900), panel=True),
    "first-touch": Picture("blocks", 1.6, size=(1400, 1000), panel=True, way=(0.0, 0.17, 0.0)),
    "page": Picture("blocks", 1.6, size=(1500, 1000), panel=True, way=(0.03, 0.17, 0.0)),
    "blocks": Picture("blocks", 0.5),
    "two-hands": Picture("two-hands", 0.5),
    "peg-and-hole": Picture("peg-and-hole", 0.5),
    "peg-in-hole": Picture("peg-in-hole", 1.0, way=(0.0, 0.0, -0.012)),
    "formation": Picture(
        "peg-in-hole", 2.0, size=(1400, 1050), panel=True, way=(0.0, 0.0, -0.0155)
    ),
    "spoon-and-cup": Picture("spoon-and-cup", 0.5),
    "jaws": Picture("jaws", 1.0, way=(0.0, 0.0, -0.009)),
    "gear-box": Picture("gear-box", 1.0, way=(0.008, 0.0, -0.001)),
    "mesh-bowl": Picture("mesh-bowl", 0.1),
    "pyramid": Picture("pyramid", 0.5),
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
    "clip": Picture("clip", 2.0, way=(0.0, 0.0, -0.0195)),
    "table": Picture("table", 2.0, way=(0.0, 0.0, -0.045)),
    "soft-block": Picture("soft-block", 2.0, way=(0.0, 0.0, -0.03)),
    "snap": Picture("clip", 2.0, size=(1400, 950), panel=True, way=(0.0, 0.0, -0.0195)),
}


def draw(browser: Any, name: str, picture: Picture) -> Path:
    """Write one picture."""
    path = HERE / f"{name}.png"
    with at_its_moment(picture) as source, on_a_page(picture.scene, source) as address:
        width, height = picture.size
        width += 0 if picture.panel else PANEL
        view = browser.new_page(viewport={"width": width, "height": height})
        view.set_default_timeout(PATIENCE)
        view.goto(address)
        view.get_by_role("button", name="Reset", exact=True).wait_for()
        # The note about software rendering is about the machine that draws, not about the page.
        view.add_style_tag(content=".mantine-Notifications-root { display: none }")
        if not picture.panel:
            view.add_style_tag(content="* { box-shadow: none !important }")
            view.add_style_tag(content=".mantine-Paper-root { visibility: hidden !important }")
        target = view if picture.panel else view.locator("canvas").first
        before = b""
        view.wait_for_timeout(FADE)
        while (now := target.screenshot(path=path)) != before:
            before = now
            view.wait_for_timeout(SETTLE)
        view.close()
    return path


@contextlib.contextmanager
def at_its_moment(picture: Picture) -> Iterator[Source]:
    """The scene at its time, paused."""
    first, plain = page_scenes(picture.scene)
    settings = Settings(first, method=preferred_method(first))
    source: Runner | HeldSession
    if plain(first).tools:
        source = HeldSession(settings, plain)
        source.start()
        lead_the_hand(source, np.array(picture.way), picture.seconds)
        source.pause(True)
    else:
        built = page_builder(plain)(settings)
        built.simulation.step(round(picture.seconds / built.simulation.dt))
        source = Runner(settings, lambda _: built)
        source.pause(True)
        source.start()
    try:
        yield source
    finally:
        source.stop()


def lead_the_hand(touch: HeldSession, way: np.ndarray, seconds: float) -> None:
    """Move the first hand along a straight way, slow at both ends."""
    sheet = touch.description.tools[0]
    turn = touch.session.scene.tools[0].orientation
    hand = Hand(sheet.hand)
    begin = time.perf_counter()
    while (share := (time.perf_counter() - begin) / seconds) < 1.0:
        hand.move((way * share * share * (3.0 - 2.0 * share)).tolist(), turn.tolist())
        time.sleep(1.0 / 60.0)
    time.sleep(0.3)
    hand.close()


@contextlib.contextmanager
def on_a_page(scene: str, source: Source) -> Iterator[str]:
    """The address of a page that shows the source."""
    host, stop = Host(described(scene)), threading.Event()
    host.open()
    host.show(source)
    feeding = threading.Thread(target=host.run, args=(None, stop))
    feeding.start()
    try:
        yield host.address
    finally:
        stop.set()
        feeding.join()
        host.close()


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
