"""The one exception a user meets: a scene that cannot be simulated, said in one line."""


class SceneError(ValueError):
    """Bad input, found before anything runs; the message names what, where and the remedy."""
