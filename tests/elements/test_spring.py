"""A spring of the scene as an element: force and Hessian at given motions."""

from __future__ import annotations

import numpy as np
import pytest
from implicit.touching import Contact, polygon

from tangere.elements.columns import SF_ACROSS, SF_ALONG, SF_START, SPRING_KIND

pytestmark = pytest.mark.nojit


def test_spring_pulls_and_pushes() -> None:
    c = Contact([polygon([(0, 0), (1, 0), (0, 1)], [1.0, 1.0, 1.0])], kind=SPRING_KIND)
    f = c.v.elements.floats[0]
    f[SF_ALONG], f[SF_ACROSS] = 3.0, 1.4
    f[SF_START : SF_START + 3] = 5.0, -3.0, 0.5
    r = c(np.array([0.1, 7.0, 8.0, 0.2, -0.3, 9.0]))
    assert r.force == pytest.approx((-5.0 - 0.3, 0, 0, 3.0 - 0.28, -0.5 + 0.42, 0))
    assert r.normal == pytest.approx(np.diag((3.0, 0.0, 0.0)))
    assert r.tangential == pytest.approx(np.diag((1.4, 1.4, 0.0)))
    f[SF_START] = -5.0
    assert c(np.zeros(6)).force[0] == 5.0
