"""What moves: rigid bodies, their free motion and their springs."""
