"""An experiment of a paper from Python: run it, look at its claims, draw its figure."""

import tempfile
from pathlib import Path

from tangere.experiments.experiment import reproduce
from tangere.experiments.registry import EXPERIMENTS
from tangere.experiments.report import number, write

experiment = EXPERIMENTS["falling-cube"]
outcome = reproduce(experiment, experiment.quick)
print(experiment.paper)
for claim in outcome.claims:
    print(f"  {claim.verdict}: {claim.text} [{number(claim.measured, claim.unit)}]")

with tempfile.TemporaryDirectory() as folder:
    page = write([outcome], Path(folder))
    print(f"report of {page.stat().st_size // 1000} kB")

assert outcome.passed
