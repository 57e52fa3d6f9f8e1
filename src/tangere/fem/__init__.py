"""Finite elements, offline: what a deformable body does under load, prepared for the run time.

Linear elasticity, small strains. Nothing here runs in a step.
"""
