"""Which kind of source is behind the page: a simulation to watch and pull, or hands with tools."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tangere.contact.method import methods
from tangere.viewer.frame import Description, Frame, News, Settings
from tangere.viewer.method_choice import Preferred, for_scene

if TYPE_CHECKING:
    from tangere.viewer.held_session import HeldSession
    from tangere.viewer.orders import Order
    from tangere.viewer.runner import Runner


class Director:
    """A source that becomes another kind of source when the chosen scene needs it."""

    def __init__(
        self,
        make: Callable[[Settings], Runner | HeldSession],
        first: Runner | HeldSession,
        prefer: Callable[[str], Preferred] = lambda scene: Preferred(methods.default, {}),
    ) -> None:
        """Start the first source.

        Args:
            make: A source for settings, not started yet.
            first: One that `make` made.
            prefer: The method that suits a scene best, and options that come with the scene.
        """
        self._make = make
        self._prefer = prefer
        self._notice: str | None = None
        self._changing: threading.Thread | None = None
        self._lock = threading.Lock()
        self._closed = False
        self.source = first
        self.source.start()

    @property
    def description(self) -> Description:
        """What is simulated."""
        return self.source.description

    @property
    def frame(self) -> Frame:
        """The newest picture."""
        return self.source.frame

    @property
    def news(self) -> News:
        """Words that change now and then."""
        news = self.source.news
        return news if self._notice is None else replace(news, notice=self._notice)

    def new_rows(self) -> Any:
        """Rows of the live plots since the last call."""
        return self.source.new_rows()

    def page_lost(self, lost: bool) -> None:
        """The page's process went away, or is there again."""
        self.source.page_lost(lost)

    def obey(self, order: Order) -> None:
        """Carry out an order; another scene is made ready beside the running one."""
        if order.verb != "scene":
            self.source.obey(order)
        elif self._changing is None or not self._changing.is_alive():
            scene = order.values[0]
            settings = for_scene(self.description.settings, self._prefer(scene))
            wanted = replace(settings, scene=scene, clutch=False)
            self._changing = threading.Thread(target=self._change, args=(wanted,), daemon=True)
            self._changing.start()

    def _change(self, settings: Settings) -> None:
        self._notice = f"Preparing {settings.scene} …"
        try:
            new = self._make(settings)
        except Exception as error:  # the old scene goes on, and the page says why
            self._notice = str(error)
            return
        with self._lock:
            if self._closed:
                return
            self.source.stop()  # lets go of its devices
            try:
                new.start()
            except Exception as error:
                self._notice = f"{error}. Choose a scene again."
                return
            self.source = new
        self._notice = None

    def stop(self) -> None:
        """End whatever runs."""
        with self._lock:
            self._closed = True
            self.source.stop()
