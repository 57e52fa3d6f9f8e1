"""One recorded hand under several contact methods, side by side."""
