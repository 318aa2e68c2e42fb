"""`usable(H=5)`: sizes and sentences a reader sets; what is impossible becomes the nearest."""

from collections.abc import Iterable

import torch

from mha_utils import data
from mha_utils.core.guards import require_sizes
from mha_utils.core.modules import MultiHeadAttention


def usable(most: int = 64, least: int = 1, **sizes) -> int | tuple[int, ...]:
    """The sizes of a chapter, in the order given; of each that cannot be, one sentence is printed.

    Args:
        most: the largest size that the cells below can show.
        least: the smallest, if it is not 1.
        sizes: named as in the series. Of D, H and Hkv, each that is given must divide the one
            before it.

    Returns:
        a whole number from `least` to `most` for each size; the number itself if there is only one.

    Raises:
        ValueError: if no size is given, or `most` is none.
    """
    require_sizes(most=most, count=len(sizes))
    found = {name: nearest(name, size, most, least) for name, size in sizes.items()}
    for whole, part in (("D", "H"), ("H", "Hkv")):
        if {whole, part} <= found.keys() and found[whole] % found[part]:
            found[part] = nearest_divisor(whole, found[whole], part, found[part])
    return found.popitem()[1] if len(found) == 1 else tuple(found.values())


def several(numbers) -> list:
    """The numbers of a list, a tuple or a range; one number, or one word, alone is a list."""
    is_one = isinstance(numbers, str) or not isinstance(numbers, Iterable)
    return [numbers] if is_one else list(numbers)


def usable_offsets(offsets, most: int) -> tuple[int, ...]:
    """The whole numbers from 0 to `most` among these, each once, or 1; the rest is named."""
    return those_of(offsets, range(most + 1), f"Whole numbers from 0 to {most}", 1)


def usable_sentence(text, most: int = 64) -> str:
    """The words of a text; of none, or of more than the cells below can show, it is said.

    Args:
        text: words in any script.
        most: so many words are kept, at least one.

    Returns:
        the words with a space between them, in lower case; those of `data.SENTENCE` if there
        are none.
    """
    words = data.split_words(str(text))
    if not words:
        print(f"There is no word in {text!r}. We go on with “{data.SENTENCE}”.")
        words = data.split_words(data.SENTENCE)
    kept = words[: max(1, most)]
    if len(words) > len(kept):
        print(f"The sentence has {len(words)} words. We go on with the first {len(kept)}.")
    return " ".join(kept)


def usable_probability(p) -> float:
    """p from 0 to 1; if it is anything else, that is said and the nearest of them taken."""
    return nearest_within("p", p, 0.0, 1.0)


def usable_temperature(temperature) -> float:
    """A number that scores can be divided by; if it is none, that is said and the nearest taken."""
    return nearest_within("temperature", temperature, 0.01, 100.0)


def usable_rate(rate) -> float:
    """So much in a second that time can be divided by it; if it is none, that is said."""
    return nearest_within("rate", rate, 1.0, 1e30)


def usable_base(base) -> float:
    """A number that rotary dials can turn with; if it is none, that is said."""
    return nearest_within("base", base, 1.0, 1e30)


def usable_names(names, known) -> tuple[str, ...]:
    """Those of these names that are known, each once, or the first known; the rest is named."""
    known = list(known)
    return those_of(names, known, f"Names among {', '.join(known)}", known[0])


def those_of(asked, known, needed: str, other) -> tuple:
    """What is asked for and known, each once, `other` if there is none."""
    given = several(asked)
    kept = (one for one in given if isinstance(one, int | str) and one in known)
    found = tuple(dict.fromkeys(kept)) or (other,)
    if list(found) != given:
        print(f"{needed} are needed, each once, got {asked!r}. We go on with {found}.")
    return found


def usable_seed(seed) -> int:
    """A whole number that torch can draw with; if it is none, that is said and 0 taken."""
    if isinstance(seed, int) and abs(seed) < 2**63 - 2**20:  # room for what a cell adds to it
        return int(seed)
    print(f"A seed has to be a whole number, and {seed!r} is not. We go on with 0.")
    return 0


def usable_mask(mask, seq_len: int) -> torch.Tensor:
    """True and False, (T, T); numbers become True where they are not 0, other sizes causal."""
    if mask is None:
        print("Without a mask every word may look at every word.")
        return torch.ones(seq_len, seq_len, dtype=torch.bool)
    mask = torch.as_tensor(mask)
    if mask.dtype == torch.bool and mask.shape == (seq_len, seq_len):
        return mask
    kind = f"{str(mask.dtype).removeprefix('torch.')} {tuple(mask.shape)}"
    print(f"The mask has to be bool ({seq_len}, {seq_len}), and this is {kind}.", end=" ")
    if mask.shape == (seq_len, seq_len):
        print("We go on with True where it is not 0.")
        return mask != 0
    print("We go on with the causal mask.")
    return torch.ones(seq_len, seq_len).tril() > 0


def usable_place(words: list[str], word: str) -> int:
    """Where a word stands; if it is not among the words, that is said and the first taken."""
    if word in words:
        return words.index(word)
    print(f"There is no “{word}” among: {' '.join(words)}. We go on with “{words[0]}”.")
    return 0


def usable_rows(table, width: int) -> torch.Tensor:
    """(D, width): a row of numbers for each of `data.FEATURES`, 0 where a table gives none.

    A name that is no feature, and a row that is no numbers, are said and left out.
    """
    rows = torch.zeros(len(data.FEATURES), width)
    for name, numbers in table.items() if isinstance(table, dict) else ():
        numbers = several(numbers)[:width]
        if name in data.FEATURES and all(isinstance(n, int | float) for n in numbers):
            rows[data.FEATURES.index(name), : len(numbers)] = torch.tensor(numbers).to(rows)
        else:
            print(f"{name!r}: {numbers} is left out. A row has {width} numbers and one of", end=" ")
            print(f"these names: {', '.join(data.FEATURES)}.")
    return rows


def usable_device(name) -> str:
    """ "cuda" or "cpu", as asked for; if this machine has no such device, that is said."""
    names = ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]
    if name not in names:
        print(f"There is no device {name!r} here that this chapter can use. We go on with 'cpu'.")
        return "cpu"
    return name


def usable_layer(layer, D: int, H: int, may_drop: bool = False) -> MultiHeadAttention:
    """A layer from D to D with H heads, all with biases and keys of their own, no rotary.

    If it is another, that is said, and a new one of this kind taken.
    """
    plain = MultiHeadAttention(D, H, dtype=layer_dtype(layer))
    shapes = {name: p.shape for name, p in plain.named_parameters()}
    other = not isinstance(layer, MultiHeadAttention) or layer.rotary is not None
    other = other or shapes != {name: p.shape for name, p in layer.named_parameters()}
    if not other and (may_drop or not layer.dropout):
        return layer
    kind = "with biases, without rotary" + ("" if may_drop else ", without dropout")
    print(f"The cells below need a MultiHeadAttention({D}, {H}), each head with keys", end=" ")
    print(f"of its own, {kind}. We go on with one.")
    return plain


def layer_dtype(layer) -> torch.dtype:
    """Of the first parameter of a module; what torch takes by itself if there is none."""
    numbers = [*layer.parameters()] if isinstance(layer, torch.nn.Module) else []
    return numbers[0].dtype if numbers else torch.get_default_dtype()


def nearest(name: str, size, most: int, least: int = 1) -> int:
    """The whole number from `least` to `most` that is nearest to `size`, `least` if it is none."""
    try:
        whole = max(least, round(max(0, min(size, most))))  # in this order NaN is 0
    except (TypeError, ValueError):
        whole = least
    if whole != size or isinstance(size, bool):
        whose = f"{name} has to be a whole number from {least} to {most}, and {size!r} is not"
        print(f"{whose}. We go on with {name} = {whole}.")
    return whole


def nearest_within(name: str, number, low: float, high: float) -> float:
    """The number from `low` to `high` that is nearest to `number`, `low` if it is none."""
    try:
        within = min(max(low, float(number)), high)  # in this order NaN is `low`
    except (TypeError, ValueError):
        within = low
    if within != number:
        whose = f"{name} has to be a number from {low:g} to {high:g}, and {number!r} is not"
        print(f"{whose}. We go on with {name} = {within:g}.")
    return within


def nearest_divisor(whole: str, size: int, part: str, count: int) -> int:
    """The number nearest to `count` that share `size` evenly; of two, the smaller."""
    divisors = [n for n in range(1, size + 1) if size % n == 0]
    nearest_one = min(divisors, key=lambda n: abs(n - count))
    whose = {"H": "heads", "Hkv": "KV heads"}[part]
    print(f"{whole} = {size} cannot be shared evenly by {part} = {count} {whose}.", end=" ")
    print(f"We go on with {part} = {nearest_one}.")
    return nearest_one
