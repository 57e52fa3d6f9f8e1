"""How a scene goes on by one step."""
