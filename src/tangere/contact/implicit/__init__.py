"""The implicit step for whole scenes."""
