"""What things look like: shapes, hulls, meshes. Knows no mass, no force."""
