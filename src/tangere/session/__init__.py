"""A running haptic session: scene, method, coupling and device meet here."""
