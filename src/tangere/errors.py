"""The exceptions a user meets, each said in one line."""


class SceneError(ValueError):
    """Bad input, found before anything runs; the message names what, where and the remedy."""


class DeviceError(RuntimeError):
    """A device that cannot be opened or used; the message names it, the reason and the remedy."""


def choose(what: str, value: object, choices: tuple[str, ...]) -> str:
    """The value, if it is one of the choices.

    Raises:
        SceneError: It is not.
    """
    if value in choices:
        return str(value)
    raise SceneError(f"unknown {what} {value!r}; choose one of: {', '.join(choices)}")
