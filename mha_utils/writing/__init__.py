"""A small language model that writes stories: what it reads, what it is, how it learns."""
