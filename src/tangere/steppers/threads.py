"""Large scenes: steps shared among threads.

Explicit steps: the pair list is cut into shares, several per thread; whoever is ready takes the
next. Each thread has scratch of its own and leaves its wrenches in the pairs' rows. One thread adds
them up in the order of the list, by the same instructions as by one thread: results do not depend
on the number of threads, not even in the last digit.

Implicit steps: one thread makes them and queues what can be shared, contacts to be found and
islands to be solved; the others do what they find in the queue. What is queued does not depend on
who does it, so again the digits are the same.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from tangere.collision.broad import BITS
from tangere.contact.convex.options import ContactOptions
from tangere.maths.vec import Array, IntArray, LongArray
from tangere.model import OK, Pairs, Soup, Work, new_soup
from tangere.scene.compile import Compiled

# From so many parts on a step is long against the time that threads take to meet (0.1 ms).
LARGE = 1_000
# More threads gain little: finding pairs and moving bodies is done by one.
MOST = 4
# Shares per thread: contacts are not equally dear, and a core may be busy with something else.
SHARES = 8
# A helper looks into the queue so many times (10 µs) before it sleeps for so long [s].
LOOKS, NAP = 300, 3e-5


def thread_count(parts: int) -> int:
    """Threads to use for a scene of so many parts: one unless it is large."""
    if parts < LARGE:
        return 1
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return min(cores or 1, MOST)


def shares(pairs: Pairs, count: int) -> list[tuple[int, int]]:
    """First and end of `count` equal shares of the list; the pairs of two bodies stay together."""
    used = int(pairs.used[0])
    ends = [0]
    for k in range(1, count + 1):
        end = max(ends[-1], used * k // count)
        while 0 < end < used and _same_bodies(pairs, end - 1, end):
            end += 1
        ends.append(end)
    return list(pairwise(ends))


def _same_bodies(pairs: Pairs, one: int, two: int) -> bool:
    """Whether two pairs of the list are of the same two bodies."""
    same = pairs.key[one] >> (2 * BITS) == pairs.key[two] >> (2 * BITS)
    return bool(same and pairs.owner[one] == pairs.owner[two])


class _Scratch(NamedTuple):
    """What a thread writes besides the pairs' rows; see `World`, `Work`."""

    verts: Array
    planes: Array
    stamp: IntArray
    soup: Soup
    sums: Array
    times: LongArray


class Threads:
    """Threads that share the steps of one simulation, and the scratch of all but the first."""

    def __init__(self, size: int) -> None:
        """So many threads, the caller's included."""
        self.size = size
        self._scratch: list[_Scratch] = []

    def run_explicit(
        self, c: Compiled, dt: float, steps: int, first: int, options: ContactOptions
    ) -> tuple[int, int]:
        """As `steppers.explicit.run`: the number of steps made and a status."""
        from tangere.steppers.explicit import Duty, run

        def do(work: Work, step: int, duty: Duty) -> int:
            return run(c.sizes, c.model, c.hulls, c.state, work, dt, 1, step, options, duty)[1]

        def take(work: Work, step: int, left: Iterator[tuple[int, int]]) -> int:
            shared = (do(work, step, Duty(False, True, False, *share)) for share in left)
            return max([OK, *shared])

        works = self._works(c.work)
        with ThreadPoolExecutor(self.size - 1) as others:
            for done in range(steps):
                step = first + done
                status = do(c.work, step, Duty(True, False, False, 0, 0))
                if status != OK:
                    return done, status
                left = iter(shares(c.work.pairs, SHARES * self.size))
                tasks = [others.submit(take, work, step, left) for work in works]
                found = [take(c.work, step, left), *(task.result() for task in tasks)]
                if max(found) == OK:
                    found.append(do(c.work, step, Duty(False, False, True, 0, 0)))
                if max(found) != OK:
                    return done, max(found)
        return steps, OK

    @contextmanager
    def helpers(self, c: Compiled, dt: float, options: ContactOptions) -> Iterator[None]:
        """While open, the others help the caller with implicit steps of this scene."""
        from tangere.steppers.implicit import run

        stop = threading.Event()

        def assist(work: Work) -> None:
            scene = (c.sizes, c.model, c.hulls, c.state, work)
            while not stop.is_set():
                run(*scene, dt, 0, 0, options, LOOKS)
                time.sleep(NAP)

        with ThreadPoolExecutor(self.size - 1) as others:
            tasks = [others.submit(assist, work) for work in self._works(c.work)]
            try:
                yield
            finally:
                stop.set()
        for task in tasks:
            task.result()

    def _works(self, work: Work) -> list[Work]:
        """The scene's arrays with scratch for each further thread; nothing in it is up to date."""
        room = len(work.soup.owner)
        if not self._scratch or len(self._scratch[0].soup.owner) != room:
            self._scratch = [
                _Scratch(
                    np.zeros_like(work.world.verts),
                    np.zeros_like(work.world.planes),
                    np.zeros_like(work.world.stamp),
                    new_soup(room),
                    np.zeros_like(work.sums),
                    np.zeros_like(work.times),
                )
                for _ in range(self.size - 1)
            ]
        works = []
        for own in self._scratch:
            own.stamp[:] = -1
            world = work.world._replace(verts=own.verts, planes=own.planes, stamp=own.stamp)
            works.append(work._replace(world=world, soup=own.soup, sums=own.sums, times=own.times))
        return works
