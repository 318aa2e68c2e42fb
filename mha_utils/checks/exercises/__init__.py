"""All exercises: what each asks, the right result in NumPy, likely wrong ones."""
