"""How noise is drawn for a release: bits, exact masses, tables, the literal loop. Use `brdp.noise.sampler`."""
