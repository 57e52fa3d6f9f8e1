"""What happens where bodies touch: one folder per method, the same file names inside."""
