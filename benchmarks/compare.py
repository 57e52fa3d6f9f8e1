"""Two runs of `tangere bench --json`, or stored ones, side by side; status 1 if ours got slower.

Usage: python benchmarks/compare.py OLD.json NEW.json
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

TIME = "p50 [µs]"
WORSE = 1.10  # new over old above which a loss must be explained


def medians(path: Path) -> dict[str, float]:
    """Median time of every row that has one and is ours, by what identifies the row."""
    found: dict[str, float] = {}
    read = json.loads(path.read_text(encoding="utf-8"))
    for result in read if isinstance(read, list) else [read]:
        for table in result["tables"]:
            for row in table["rows"]:
                if TIME in row and row.get("engine", "tangere") == "tangere":
                    found[key(result["name"], table["title"], row)] = float(row[TIME])
    return found


def key(name: str, title: str, row: dict[str, Any]) -> str:
    words = [str(value) for value in row.values() if isinstance(value, int | str)]
    return " · ".join([name, title.split(",", maxsplit=1)[0], *words])


def main(old: Path, new: Path) -> int:
    before, after = medians(old), medians(new)
    slower = 0
    for row in sorted(before.keys() & after.keys()):
        ratio = after[row] / before[row]
        slower += ratio > WORSE
        sys.stdout.write(f"{before[row]:10.2f} → {after[row]:10.2f} µs  {ratio:5.2f}  {row}\n")
    sys.stdout.write(f"{slower} of {len(before)} rows slower by more than {WORSE - 1:.0%}\n")
    return 1 if slower else 0


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    sys.exit(main(Path(sys.argv[1]), Path(sys.argv[2])))
