"""The papers' experiments: run, judged, drawn."""
