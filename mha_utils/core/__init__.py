"""The layer: shape contracts, steps, masks, modules, kernels, porting, probes, costs."""
