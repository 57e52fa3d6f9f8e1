"""Isotropic linear elasticity: Young's modulus, Poisson's ratio, density."""

from __future__ import annotations

from dataclasses import dataclass

from tangere.errors import SceneError
from tangere.geometry.checks import Record, number, positive


@dataclass(frozen=True, eq=False)
class ElasticMaterial(Record):
    """An isotropic material that obeys Hooke's law."""

    young: float
    """Young's modulus E [Pa]."""
    poisson: float
    """Poisson's ratio ν, above -1 and below 0.5."""
    density: float
    """ρ [kg/m³]."""

    def __post_init__(self) -> None:
        """Check the three numbers."""
        nu = number(self.poisson, "ElasticMaterial poisson")
        if not -1.0 < nu < 0.5:
            raise SceneError(
                f"ElasticMaterial poisson: must lie between -1 and 0.5, got {nu:g}; "
                "rubber has about 0.49, metals 0.3"
            )
        object.__setattr__(self, "poisson", nu)
        for name in ("young", "density"):
            value = positive(getattr(self, name), f"ElasticMaterial {name}")
            object.__setattr__(self, name, value)

    @property
    def lame(self) -> float:
        """Lamé's first parameter λ = E ν / ((1 + ν)(1 - 2 ν)) [Pa]."""
        return self.young * self.poisson / ((1.0 + self.poisson) * (1.0 - 2.0 * self.poisson))

    @property
    def shear(self) -> float:
        """Shear modulus G = E / (2 (1 + ν)) [Pa]."""
        return 0.5 * self.young / (1.0 + self.poisson)
