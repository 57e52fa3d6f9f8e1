"""A device that pushes, as the page tells of it in a real browser: state, delay, cap, faults."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from viewer.browsing import needs_chromium, open_page, showing
from viewer.test_held_session import plain

from tangere.fakes.vendors import World
from tangere.haptics.layout import MEM_BUDGET, MEM_NET
from tangere.viewer.frame import Settings
from tangere.viewer.held_session import HeldSession
from tangere.viewer.host import Host
from tangere.viewer.orders import Order

pytestmark = [pytest.mark.browser, pytest.mark.compiled, needs_chromium]

ACTIVE = re.compile(r"^plate, sigma\.7: force active, [2-8](\.5)? ms late$")


@pytest.fixture
def shown(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[Any, HeldSession]]:
    monkeypatch.chdir(tmp_path)
    touch = HeldSession(Settings("touch"), plain, device="forcedimension")
    touch.start()
    host = Host({"touch": ""})
    try:
        with showing(host, touch), open_page(host.address) as (page, _):
            yield page, touch
    finally:
        touch.stop()


def test_the_page_tells_of_a_device_from_its_start_to_its_loss(
    shown: tuple[Any, HeldSession], world: World
) -> None:
    page, touch = shown
    page.get_by_text(ACTIVE).wait_for()
    page.get_by_text(
        "displayed rotational stiffness of plate 4 → 0.96 N m/rad: sigma.7 is 2 ms late"
    ).wait_for()
    touch.obey(Order("coupling_stiffness_factor", (10.0,)))
    page.get_by_text(
        "displayed stiffness of plate 4000 → 2880 N/m: sigma.7 is 2 ms late"
    ).wait_for()
    # the net, overdrawn by hand: it recovers within seconds, so it is overdrawn again and again
    memory, softened = touch.session.rigs[0].memory, page.get_by_text("softened to")
    for _ in range(200):
        memory[MEM_BUDGET], memory[MEM_NET] = -4e-4, 0.3
        if softened.count():
            break
        page.wait_for_timeout(50)
    assert re.search(
        r"softened to \d+%: more energy came out than went in \(-0\.\d+ mJ left to give\)",
        softened.first.inner_text(),
    )
    softened.wait_for(state="detached")
    world.fail(1.0)
    page.get_by_text("plate, sigma.7: force fault: the device could not be read").wait_for()
    page.get_by_text("failed since the start: sigma.7: the pose failed").wait_for()
    page.get_by_text(ACTIVE).wait_for()
    world["dead"] = 1
    page.get_by_text("Stopped: the device of plate is lost").wait_for()
    page.get_by_text("plate, sigma.7: force off: the session has stopped").wait_for()
    assert not world.motors().any()
