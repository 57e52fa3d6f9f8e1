"""Scenes in words, their files and their library; and their way into the model's arrays."""
