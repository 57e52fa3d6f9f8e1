"""Columns of what stands for a cluster of contacts; no algorithms."""

from __future__ import annotations

from tangere.contact_planes import NPLANE

# A contact plane without friction, followed by what only the clusters need.
CLUSTER_DEPTH = NPLANE  # δ [m]
CLUSTER_BODY = NPLANE + 1  # as of a contact
CLUSTER_WEIGHT = NPLANE + 2  # share of its body's contact weight
CLUSTER_FORCE = NPLANE + 3  # s of the last update [N]
NCLUSTER = NPLANE + 4
