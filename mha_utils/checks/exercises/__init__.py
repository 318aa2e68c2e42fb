"""What the exercises ask: the right result in NumPy, and well-known wrong ones."""
