"""The exceptions a user meets, each said in one line."""


class SceneError(ValueError):
    """Bad input, found before anything runs; the message names what, where and the remedy."""


class DeviceError(RuntimeError):
    """A device that cannot be opened or used; the message names it, the reason and the remedy."""
