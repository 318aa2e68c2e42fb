"""The layer: shapes and errors, steps, masks, rotary, cache, modules, kernels, porting, costs."""
