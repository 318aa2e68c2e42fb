"""What all live views share: the base class, pages without a kernel, still pictures."""
