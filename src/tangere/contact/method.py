"""What a contact method is: one record, and the registry that everything reads it from.

A method is a folder with a record in it. `Simulation`, `Session`, replay, the command line, the
page, the warm-up and the docs take what they say and do of a method from its record, so a new one
is one folder and one line: `methods.register(record)`, or an entry point of the group
`tangere.methods` that names the record.
"""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

from tangere.errors import SceneError

if TYPE_CHECKING:
    from tangere.haptics.layout import Rig
    from tangere.scene.compile import Compiled
    from tangere.scene.scene import Scene
    from tangere.session.tool_side import ToolSide
    from tangere.steppers.stepper import Stepper

ENTRY_POINTS = "tangere.methods"
# Records within this package: a line for each.
BUILT_IN = {
    "volume": "tangere.contact.volume.method",
    "point": "tangere.contact.point.method",
    "penalty": "tangere.contact.penalty.method",
    "signorini": "tangere.contact.signorini.method",
    "formation": "tangere.contact.formation.method",
}
# What of a material the page can scale.
MATERIAL_FACTORS = frozenset({"stiffness", "damping", "friction"})


@dataclass(frozen=True)
class Control:
    """An option that the page offers, as a list of choices or as a slider."""

    option: str
    """Field of the options."""
    label: str
    hint: str
    choices: Mapping[str, Any] = field(default_factory=dict)
    """Values of the option by the words for them; none: it is a number."""
    span: tuple[float, float, float] | None = None
    """Least and greatest value of a number, and its steps."""
    unit: str = ""
    steppers: tuple[str, ...] | None = None
    """Steppers with which it has an effect; None: with all."""
    held: bool = True
    """Whether it has an effect on a tool in a hand."""
    step: bool = True
    """Whether it has an effect where no hand holds anything."""


def _never(options: Any) -> bool:
    return False


@dataclass(frozen=True)
class Method:
    """A contact method.

    Names in `stepper`, `tool_side` and `warm_up` are imported when they are called: a record is
    cheap to read.
    """

    name: str
    options: type
    """Frozen dataclass that a user may pass instead of the name."""
    words: str
    """One sentence, for the page, the command line and the docs."""
    paper: str
    """Key in references.bib."""
    citation: str
    """The paper in words."""
    steppers: tuple[str, ...]
    """That can run it, the default first; none: it is for a tool in a hand alone."""
    stepper: Callable[[Compiled, Any, str, float], Stepper] | None
    """(arrays of the scene, options, stepper, step) → what moves the scene."""
    tool_side: Callable[[Scene, Any, float, list[Rig]], ToolSide]
    """(scene, options, contact period, rigs) → what a session asks for packets."""
    warm_up: Callable[[], None]
    """Compiles what this method needs, and nothing else."""
    bodies: frozenset[str] = frozenset({"rigid"})
    parts: frozenset[str] = frozenset({"hull", "plane"})
    packets: tuple[str, ...] = ("planes", "linear", "held")
    """What it can tell a servo, the default first: unilateral planes, the wrench with its
    derivative, the wrench alone, the contact problem itself."""
    controls: tuple[Control, ...] = ()
    material_factors: frozenset[str] = MATERIAL_FACTORS
    """What of the materials has an effect on its contacts; of `MATERIAL_FACTORS`."""
    held_factors: frozenset[str] | None = None
    """The same where nothing but a tool in a hand moves; None: no less."""
    per_area: Callable[[Any], bool] = _never
    """(options): whether materials give stiffness and damping per area [N/m³, N s/m³]."""
    refuse: Callable[[Scene], None] | None = None
    """(scene): refuses what the kinds of bodies and shapes do not tell, in one line."""
    check: Callable[[Scene, Any, str], None] | None = None
    """(scene, options, stepper): refuses what options and scene do not allow, in one line."""

    def check_scene(self, scene: Scene, options: Any, stepper: str | None = None) -> str:
        """The stepper to take, this or the method's first.

        Raises:
            SceneError: The method is not made for this scene; in one line that says which one is.
        """
        if not self.steppers:
            others = ", ".join(repr(m.name) for m in methods.values() if m.steppers)
            raise SceneError(
                f"method {self.name!r} is for a tool in a hand: use Session(scene, "
                f"method={self.name!r}), or here one of: {others}"
            )
        stepper = self.steppers[0] if stepper is None else stepper
        if stepper not in self.steppers:
            raise SceneError(
                f"unknown integrator {stepper!r}; method {self.name!r} can have: "
                f"{', '.join(self.steppers)}"
            )
        self.check_bodies(scene)
        if self.check is not None:
            self.check(scene, options, stepper)
        return stepper

    @property
    def mover(self) -> Method:
        """The method by which a scene moves: this one, or the default where it has no stepper."""
        return self if self.steppers else methods[methods.default]

    def check_bodies(self, scene: Scene) -> None:
        """Refuse scenes with bodies and shapes that this method does not know."""
        for body in scene.bodies:
            for what, has, known in (
                ("body", {body.kind}, "bodies"),
                ("shape", set(body.shape.offers), "parts"),
            ):
                if not has & getattr(self, known):
                    able = [m.name for m in methods.values() if has & getattr(m, known)]
                    raise SceneError(
                        f"{body.name!r}: method {self.name!r} knows no {what} of kind "
                        f"{', '.join(sorted(has))}; use one of: {', '.join(able) or 'none does'}"
                    )
        if self.refuse is not None:
            self.refuse(scene)

    def accepts(self, scene: Scene) -> bool:
        """Whether it knows all bodies and shapes of a scene."""
        try:
            self.check_bodies(scene)
        except SceneError:
            return False
        return True

    def with_choices(self, choices: Mapping[str, Any], stepper: str, held: bool) -> Any:
        """Options with what the page chose, of the controls that have an effect here."""
        chosen = {
            control.option: choices[control.option]
            for control in self.controls_for(stepper, held)
            if control.option in choices
        }
        return self.options(**chosen)

    def controls_for(self, stepper: str, held: bool) -> list[Control]:
        """Controls that have an effect."""
        return [
            control
            for control in self.controls
            if (control.held if held else control.step)
            and (control.steppers is None or stepper in control.steppers)
        ]

    def factors_for(self, scene: Scene) -> frozenset[str]:
        """Material factors that have an effect.

        Where the method is for a tool in a hand alone, what else can move does so by the default
        method.
        """
        held = {tool.index for tool in scene.tools}
        others = any(not body.fixed and body.index not in held for body in scene.bodies)
        held_alone = self.material_factors if self.held_factors is None else self.held_factors
        if not others:
            return held_alone if held else self.material_factors
        return self.material_factors | self.mover.material_factors


class Registry(Mapping[str, Method]):
    """All methods by name; those of other packages come last."""

    def __init__(self) -> None:
        self._records: dict[str, Method] = {}
        self._searched = False

    @property
    def default(self) -> str:
        """Name of the method that is taken where none is given."""
        return next(iter(BUILT_IN))

    def register(self, record: Method) -> None:
        """Make a method known."""
        known = self._records.get(record.name)
        if record.name in BUILT_IN and type(self)._built_in(record.name) is not record:
            raise SceneError(f"method {record.name!r} exists: give yours another name")
        if known is not None and known is not record:
            raise SceneError(f"method {record.name!r} exists: give yours another name")
        self._records[record.name] = record

    def unregister(self, name: str) -> None:
        """Forget a method of another package."""
        self._records.pop(name, None)

    @staticmethod
    def _built_in(name: str) -> Method:
        record: Method = importlib.import_module(BUILT_IN[name]).METHOD
        return record

    def _search(self) -> None:
        """Methods of other packages, once; one that cannot be loaded is left out, with a word."""
        if self._searched:
            return
        self._searched = True
        from importlib.metadata import entry_points

        for entry in entry_points(group=ENTRY_POINTS):
            try:
                self.register(entry.load())
            except Exception as error:
                warnings.warn(
                    f"contact method {entry.name!r} of {entry.value} is left out: {error}",
                    stacklevel=2,
                )

    def __getitem__(self, name: str) -> Method:
        if name in BUILT_IN:
            return self._built_in(name)
        self._search()
        return self._records[name]

    def __iter__(self) -> Iterator[str]:
        self._search()
        yield from BUILT_IN
        yield from (name for name in self._records if name not in BUILT_IN)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def resolve(self, given: Any) -> tuple[Method, Any]:
        """Record and options of what a user gave: a name, or options."""
        if isinstance(given, str):
            if given in self:
                return self[given], self[given].options()
            raise SceneError(f"unknown method {given!r}; choose one of: {', '.join(self)}")
        for record in self.values():
            if type(given) is record.options:
                return record, given
        raise SceneError(
            f"unknown method {given!r}: give options or one of these names: {', '.join(self)}"
        )


methods = Registry()


def to_words(options: Any) -> Any:
    """Options as a file keeps them: a name, or the name with what was chosen."""
    if isinstance(options, str):
        return options
    return {
        "kind": type(options).__name__,
        **{f.name: getattr(options, f.name) for f in fields(options)},
    }


def from_words(kept: Any) -> Any:
    """What `to_words` made into words, for `Registry.resolve`."""
    if isinstance(kept, str):
        return kept
    given = dict(kept)
    kind = given.pop("kind", "")
    for record in methods.values():
        if record.options.__name__ == kind:
            return record.options(**given)
    raise SceneError(f"unknown method {kind!r}; choose one of: {', '.join(methods)}")
