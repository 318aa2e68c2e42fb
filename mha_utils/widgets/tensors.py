"""The tensors of multi-head attention: their letters, what makes them, what is said of them."""

# name: (letters of the shape, what makes it, place in the picture as column and row)
TENSORS = {
    "x": ("B T D", "the tokens", (0, 1)),
    "q": ("B T D", "q_proj(x)", (1, 0)),
    "k": ("B T D", "k_proj(x)", (1, 1)),
    "v": ("B T D", "v_proj(x)", (1, 2)),
    "q by head": ("B H T Dh", "split, transpose", (2, 0)),
    "k by head": ("B H T Dh", "split, transpose", (2, 1)),
    "v by head": ("B H T Dh", "split, transpose", (2, 2)),
    "scores": ("B H T T", "q kᵀ / √Dh", (3, 1)),
    "masked": ("B H T T", "mask", (4, 1)),
    "weights": ("B H T T", "softmax", (4, 3)),
    "dropped": ("B H T T", "dropout", (3, 3)),
    "heads": ("B H T Dh", "dropped · v", (2, 3)),
    "merged": ("B T D", "transpose, concat", (1, 3)),
    "out": ("B T D", "out_proj(merged)", (0, 3)),
}
NEXT = {
    "x": ("q", "k", "v"),
    "q": ("q by head",),
    "k": ("k by head",),
    "v": ("v by head",),
    "q by head": ("scores",),
    "k by head": ("scores",),
    "scores": ("masked",),
    "masked": ("weights",),
    "weights": ("dropped",),
    "dropped": ("heads",),
    "v by head": ("heads",),
    "heads": ("merged",),
    "merged": ("out",),
    "out": (),
}
ARROWS = tuple((name, target) for name, targets in NEXT.items() for target in targets)
SHARES = ("weights", "dropped")
HIDDEN = "#aaaaaa"  # the colour of −∞
FACTS = {
    "x": "What the module gets.",
    "scores": "Each query meets each key in each head: H·T·T = {HTT} for a sequence.",
    "weights": "Each row of T = {T} shares sums to 1.",
    "dropped": "With p = 0 nothing is dropped.",
    "heads": "Each row is a sum of rows of v, each times its weight.",
    "merged": "The heads side by side again.",
    "out": "The shape of x again.",
}
for name in "qkv":
    FACTS[name] = f"One product with {name}_proj.weight, (D, D) = ({{D}}, {{D}}), for all heads."
    FACTS[f"{name} by head"] = (
        f"The numbers of {name}, cut into H = {{H}} pieces of Dh = D / H = {{Dh}} columns."
    )
