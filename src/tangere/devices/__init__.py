"""Haptic devices: the protocol, simulated ones, and an adapter for each real one."""
