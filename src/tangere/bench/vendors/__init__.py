"""Vendors' C libraries without devices, to measure and test against: see `world`."""
