"""Speed, measured: `tangere bench`."""
