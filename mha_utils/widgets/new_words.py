"""Words that a reader writes and a view does not know: a new row each, with features to tick."""

from collections.abc import Iterable

import torch
import traitlets
from torch import Tensor

from mha_utils import data
from mha_utils.widgets.kit.base import LiveView, refuses
from mha_utils.widgets.kit.one_head import several_heads
from mha_utils.widgets.kit.still import shortened
from mha_utils.widgets.kit.values import require_one_of, require_places, unpacked

MOST_TOKENS = 128
MOST_NAMED = 8  # of the words that can not be shown
MOST_LEARNED = 8


class NewWords(LiveView):
    """A view of a sentence whose words have rows of q and k, and which can learn more words.

    A word is as many rows as it has features: its query is the sum of theirs, its key as well.
    """

    words = traitlets.List(traitlets.Unicode()).tag(sync=True)
    sentence = traitlets.Unicode("").tag(sync=True)
    editable = traitlets.Bool(False).tag(sync=True)
    features = traitlets.List(traitlets.Unicode()).tag(sync=True)  # without any, none are learned
    examples = traitlets.List(traitlets.Unicode()).tag(sync=True)  # of each feature, as text
    feature_q = traitlets.Bytes().tag(sync=True)
    feature_k = traitlets.Bytes().tag(sync=True)
    feature_v = traitlets.Bytes().tag(sync=True)
    learned = traitlets.List().tag(sync=True)  # [word, places of its features]

    @refuses("learned")
    def _keep_features(self, name, learned):
        for word, places in learned:
            for place in places:
                require_places(len(self.features), **{f"feature of {word!r}": place})

    def learn(self, word: str, *features: str) -> None:
        """Let a new word have these features, in place of those that it had.

        Raises:
            ValueError: if it is no new word of the sentence, or a feature is not known.
        """
        require_one_of([new for new, _ in self.learned], word=word)
        for feature in features:
            require_one_of(self.features, feature=feature)
        places = sorted(map(self.features.index, set(features)))
        self.learned = [[new, places if new == word else old] for new, old in self.learned]

    def _take_new_words(self) -> None:
        """A row for each new word; one without a feature goes when its word leaves the sentence."""
        written = data.split_words(self.sentence) if self.features else []
        kept = [row for row in self.learned if row[1] or row[0] in written]
        known = {*self.words, *(word for word, _ in kept)}
        new = [[word, []] for word in dict.fromkeys(written) if word not in known]
        self.learned = [*kept, *new][:MOST_LEARNED]

    @property
    def _vocabulary(self) -> list[str]:
        return [*self.words, *(word for word, _ in self.learned)]

    def _with_learned(self, rows: Tensor, sent: bytes) -> Tensor:
        """(H, words, Dh) and below it the sums of the features of the words that were learned."""
        if not self.learned:
            return rows
        feature_rows = unpacked(sent, len(rows), -1, rows.shape[-1])
        sums = [feature_rows[:, places].sum(dim=1) for _, places in self.learned]
        return torch.cat([rows, torch.stack(sums, dim=1)], dim=1)

    def _note(self) -> str:
        """What the reader has written and the view does not know; nothing without a sentence."""
        written, known = data.split_words(self.sentence), self._vocabulary
        unknown = [word for word in written if word not in known]
        plain = [word for word, places in self.learned if not places and word in written]
        note = f" New, without a feature: {_listed(plain)}." if plain else ""
        note += f" Not in the vocabulary: {_listed(unknown)}." if unknown else ""
        if len(written) - len(unknown) > MOST_TOKENS:
            note += f" Only the first {MOST_TOKENS} words are shown."
        return note


def feature_traits(
    features: dict[str, str], added: dict[str, Tensor | None], like: dict[str, Tensor]
) -> dict:
    """The traits of a view that knows these features.

    Args:
        features: name -> the words that have it, as text.
        added: what each feature adds to q, k and v, (H, features, Dh) or (features, Dh).
        like: q and k of the words, (H, words, Dh), and their v if they have one.

    Raises:
        ValueError: if one of them is missing, or the shapes do not fit.
    """
    if any(added[name] is None for name in like):
        needed = _and(f"feature_{name}" for name in like)
        raise ValueError(f"features needs {needed}: what each one adds to {_and(like)}")
    rows = {f"feature_{name}": _feature_rows(name, added[name], features, like) for name in like}
    return rows | {"features": list(features), "examples": list(features.values())}


def _feature_rows(name: str, given: Tensor, features: dict, like: dict[str, Tensor]) -> bytes:
    """What each feature adds to q, k or v, as it is sent."""
    role, width = ("v", "Dv") if name == "v" else ("q", "Dh")
    heads = several_heads(f"feature_{name}", given, len(features), width).float()
    (num_heads, _, dim) = like[role].shape
    if (len(heads), heads.shape[-1]) != (num_heads, dim):
        raise ValueError(
            f"feature_{name} must have H = {num_heads} and {width} = {dim} as {role}, "
            f"got {tuple(heads.shape)}"
        )
    return heads.numpy().tobytes()


def _and(names: Iterable[str]) -> str:
    *most, last = names
    return f"{', '.join(most)} and {last}"


def _listed(words: Iterable[str]) -> str:
    words = list(words)
    more = f" and {len(words) - MOST_NAMED} more" if len(words) > MOST_NAMED else ""
    return ", ".join(shortened(word) for word in words[:MOST_NAMED]) + more
