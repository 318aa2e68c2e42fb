"""A small transformer that writes letter by letter, and how it is asked to write (chapter 16)."""

from collections.abc import Callable

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence

from mha_utils.core.cache import KeyValueCache
from mha_utils.core.guards import require_positive, require_sizes
from mha_utils.core.modules import MultiHeadAttention
from mha_utils.sizes import several
from mha_utils.writing.stories import END, LONGEST, stories

PADDING = 0
LETTERS = ("", *sorted(set(END.join(stories(500))) | {END}))  # 0 is padding
IDS = {letter: i for i, letter in enumerate(LETTERS) if letter}


class Block(nn.Module):
    """What a transformer repeats: heads gather from other letters, then each letter thinks."""

    def __init__(self, embed_dim, num_heads, attention=MultiHeadAttention):
        super().__init__()
        self.attention_norm = nn.LayerNorm(embed_dim)
        self.attention = attention(embed_dim, num_heads)
        self.mlp_norm = nn.LayerNorm(embed_dim)
        self.mlp = nn.Sequential(
            nn.Linear(embed_dim, 4 * embed_dim),
            nn.GELU(),
            nn.Linear(4 * embed_dim, embed_dim),
        )

    def forward(self, x):
        gathered = self.attention(self.attention_norm(x), is_causal=True)
        x = x + gathered
        thought = self.mlp(self.mlp_norm(x))
        return x + thought


class Writer(nn.Module):
    """Letters in, a score for every possible next letter out."""

    def __init__(
        self, embed_dim=64, num_heads=4, num_blocks=2, most=LONGEST, attention=MultiHeadAttention
    ):
        require_sizes(embed_dim=embed_dim, num_heads=num_heads, num_blocks=num_blocks, most=most)
        super().__init__()
        self.embed = nn.Embedding(len(LETTERS), embed_dim)  # which letter it is
        self.place = nn.Embedding(most, embed_dim)  # where it stands
        blocks = [Block(embed_dim, num_heads, attention) for _ in range(num_blocks)]
        self.blocks = nn.ModuleList(blocks)
        self.norm = nn.LayerNorm(embed_dim)
        self.readout = nn.Linear(embed_dim, len(LETTERS))
        for table in (self.embed, self.place):
            nn.init.normal_(table.weight, std=0.1)

    def forward(self, letters: Int[Tensor, "B T"]) -> Float[Tensor, "B T letters"]:
        x = self.embed(letters) + self.place.weight[: letters.shape[1]]
        for block in self.blocks:
            x = block(x)
        return self.readout(self.norm(x))


def go_on(
    model: Writer, letters: Int[Tensor, "B T"], caches: list[KeyValueCache]
) -> Float[Tensor, "B T letters"]:
    """The scores of `model` for letters that come after those whose keys the caches hold."""
    past = caches[0].length
    x = model.embed(letters) + model.place.weight[past : past + letters.shape[1]]
    for block, cache in zip(model.blocks, caches, strict=True):
        x = x + block.attention(block.attention_norm(x), is_causal=True, cache=cache)
        x = x + block.mlp(block.mlp_norm(x))
    return model.readout(model.norm(x))


def new_caches(model: Writer, batch_size: int) -> list[KeyValueCache]:
    """An empty cache for each block, with room for as many letters as there are places."""
    parts = [block.attention for block in model.blocks]
    room = len(model.place.weight)
    heads = [(part.k_proj.out_features // part.head_dim, part.head_dim) for part in parts]
    return [KeyValueCache(batch_size, number, room, width) for number, width in heads]


def encode(texts: list[str], length: int = 0) -> Int[Tensor, "B T"]:
    """The numbers of the letters of each text, with padding up to the longest, or to `length`.

    Raises:
        ValueError: if there is no text, or a letter that occurs in no story.
    """
    unknown = sorted(set("".join(texts)) - set(IDS))
    if unknown or not texts:
        raise ValueError(f"expected texts of the letters of the stories, got {unknown or texts}")
    rows = [torch.tensor([IDS[letter] for letter in text], dtype=torch.long) for text in texts]
    rows.append(torch.zeros(length, dtype=torch.long))  # only to make the others as long
    return pad_sequence(rows, batch_first=True, padding_value=PADDING)[:-1]


def readable(texts: list[str]) -> list[str]:
    """The letters of these texts that occur in stories, but for END; what is left out is said."""
    unknown = "".join(dict.fromkeys(letter for letter in "".join(texts) if letter not in IDS))
    if unknown:
        print(f"The stories have no {unknown!r}, so the model cannot read it. It is left out.")
    known = IDS.keys() - {END}
    return ["".join(letter for letter in text if letter in known) for text in texts]


def usable_start(text: str, longest: int = LONGEST // 2) -> str:
    """A story, or its beginning, as the model can read it; what is left out is said."""
    (kept,) = readable([str(text)])
    if not kept:
        print("Nothing is left to begin with. We go on with “Once”.")
    if len(kept) > longest:
        print(f"That is longer than we can use here. We go on with the first {longest} letters.")
    return kept[:longest] or "Once"


def readable_names(names, longest: int = 20) -> list[str]:
    """Names as the model can read them, at least one; what is left out of them is said once."""
    kept = readable([str(name) for name in several(names)])
    if not all(kept) or max(map(len, kept), default=0) > longest:
        print(f"A name has 1 to {longest} letters: we leave out the rest.")
    found = [name[:longest] for name in kept if name]
    if not found:
        print("No name is left. We go on with Mia.")
    return found or ["Mia"]


def heads_of(model: Writer) -> list[str]:
    """The heads of a model by block and number, both counted from 0: "1.3"."""
    counts = [getattr(block.attention, "num_heads", 0) for block in model.blocks]
    return [f"{block}.{head}" for block, count in enumerate(counts) for head in range(count)]


def usable_heads(names, model: Writer) -> list[str]:
    """Those of these heads, such as "1.3 0.3", that a model has; of all others it is said."""
    there = heads_of(model)
    named = [head for name in several(names) for head in str(name).split()]
    unknown = [head for head in dict.fromkeys(named) if head not in there]
    if unknown:
        only = f", only {', '.join(there)}" if there else ""
        print(f"This writer has no head {' or '.join(unknown)}{only}.")
    return [head for head in dict.fromkeys(named) if head in there]


def usable_choice(choose: Callable[[Tensor], Tensor]) -> Callable[[Tensor], Tensor]:
    """A way from scores to chances, or a softmax as long as that gives none; which is said."""
    scores = torch.linspace(-1, 1, len(LETTERS)).repeat(2, 1)
    try:
        sums = torch.as_tensor(choose(scores)).expand_as(scores).sum(dim=-1)
        torch.testing.assert_close(sums, torch.ones(2, dtype=sums.dtype))
    except Exception:
        print("Your function gives no chances yet, so every letter keeps its own.")
        return usual_chances
    return choose


def decode(letters: Int[Tensor, " T"]) -> str:
    """The text of these numbers, up to its END."""
    return "".join(LETTERS[i] for i in letters).split(END)[0]


def usual_chances(scores: Float[Tensor, "*B letters"]) -> Float[Tensor, "*B letters"]:
    return scores.softmax(dim=-1)


def draw(chances: Float[Tensor, "B letters"], generator: torch.Generator) -> Int[Tensor, "B 1"]:
    """One letter a row: walk along the chances until a random number from 0 to 1 is passed."""
    passed = chances.cumsum(dim=-1) < torch.rand(len(chances), 1, generator=generator)
    return passed.sum(dim=-1, keepdim=True).clamp(max=chances.shape[-1] - 1)


@torch.no_grad()
def write(
    model: nn.Module,
    start: str = "Once",
    number: int = 1,
    temperature: float = 0.7,
    seed: int = 0,
    cached: bool = True,
    choose: Callable[[Tensor], Tensor] = usual_chances,
) -> list[str]:
    """Let the model go on from a start, letter by letter, until each story ends.

    Args:
        model: a `Writer`; without a cache, any module that is called like it and has its places.
        start: how each story begins, in letters that occur in stories.
        number: how many stories.
        temperature: below 1 the likely letters become likelier still.
        seed: of the random numbers.
        cached: whether keys and values of the letters so far are kept (chapter 15), or
            computed anew for each letter; the stories are the same.
        choose: from scores (B, letters) to the chances of the next letter, of the same shape.

    Raises:
        ValueError: if the start is empty, too long or holds a letter that occurs in no story,
            `number` is not an integer of at least 1, or `temperature` is not above 0.
    """
    require_sizes(number=number, letters=len(start))
    require_positive(temperature=temperature)
    generator = torch.Generator().manual_seed(seed)
    letters, most = encode([start] * number), len(model.place.weight)
    if letters.shape[1] > most:
        raise ValueError(f"start must have at most {most} letters, got {letters.shape[1]}")
    caches = new_caches(model, number) if cached else []
    while letters.shape[1] < most and not (letters == IDS[END]).any(dim=1).all():
        new = letters[:, caches[0].length :] if cached else letters
        scores = (go_on(model, new, caches) if cached else model(new))[:, -1]
        letters = torch.cat([letters, draw(choose(scores / temperature), generator)], dim=1)
    return [decode(row) for row in letters]
