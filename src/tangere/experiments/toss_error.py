"""Mean and standard error over tosses of which several splits test some more than once."""

from __future__ import annotations

import math

import numpy as np

from tangere.maths.vec import Array


def spread(table: Array) -> tuple[float, float]:
    """Mean over all test halves and its standard error, of a table like that of `Result.errors`.

    The tosses are the sample: a toss tested in three splits is one toss and no more, so its rests
    are added before they are squared. What the luck of a tuning half and of its search adds is
    common to the tosses of a split, so the rests of a split are added likewise; less the single
    rests, which both sums contain:

        N² s² = Σ_tosses (Σ_splits r)² + max(0, Σ_splits (Σ_tosses r)² − Σ r²)

    with r = value − mean, N values, and n/(n − 1) for each sum of n squares. Five splits as a
    sample of their own would promise too much: they share their tosses.
    """
    n = int(np.isfinite(table).sum())
    mean = float(np.nansum(table)) / n
    rest = np.where(np.isfinite(table), table - mean, 0.0)

    def squares(sums: Array) -> float:
        count = len(sums)
        return float(sums @ sums) * count / (count - 1) if count > 1 else 0.0

    tested = np.isfinite(table).any(axis=0)
    of_tosses = squares(rest.sum(axis=0)[tested])
    of_splits = max(0.0, squares(rest.sum(axis=1)) - squares(rest[np.isfinite(table)]))
    return mean, math.sqrt(of_tosses + of_splits) / n
