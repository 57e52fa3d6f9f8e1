"""Penalty contact of meshes: distance fields, contact points in clusters, springs."""
