"""Where things touch: candidate pairs, distance, contact normal, contact volume."""
