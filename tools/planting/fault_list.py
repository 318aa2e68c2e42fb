"""The list of known faults that the suite must notice: a new one goes at its end."""
# ruff: noqa: E501

from typing import NamedTuple


class Fault(NamedTuple):
    """`old` occurs once in `file` of the package; `chapters` are tried first."""

    name: str
    file: str
    old: str
    new: str
    chapters: str

    def plant(self, source: str) -> str:
        """The text of the file with the fault in it.

        Raises:
            ValueError: if what is to be replaced does not stand there once.
        """
        if source.count(self.old) != 1:
            raise ValueError(f"{self.name}: {self.old!r} should stand once in {self.file}")
        return source.replace(self.old, self.new)


CAUSAL = "everywhere.tril(diagonal=key_len - query_len)"
FAULTS = [
    Fault(name, file, old, new, chapters)
    for file, chapters, name, old, new in (
        ("core/steps.py", "01 07", "no scale", "q / q.shape[-1] ** 0.5", "q"),
        ("core/steps.py", "01 07", "scale by Dh", "q.shape[-1] ** 0.5", "q.shape[-1]"),
        ("core/steps.py", "01 07", "scale by T", "q.shape[-1] ** 0.5", "q.shape[-2] ** 0.5"),
        ("core/steps.py", "01 07", "scale inverted", "(q / q.shape[-1]", "(q * q.shape[-1]"),
        ("core/steps.py", "01 07", "cube root", "q.shape[-1] ** 0.5", "q.shape[-1] ** (1 / 3)"),
        ("core/steps.py", "01", "softmax over queries", "scores.softmax(dim=-1)", "scores.softmax(-2)"),
        ("core/steps.py", "01", "exponent twice", "return scores.softmax", "return scores.exp().softmax"),
        ("core/steps.py", "06", "masked: over queries", "masked.softmax(dim=-1)", "masked.softmax(-2)"),
        ("core/steps.py", "06", "mask inverted", "fill(~(mask | empty), -torch.inf)", "fill(mask | empty, -torch.inf)"),
        ("core/steps.py", "06", "hidden scores are 0", "fill(~(mask | empty), -torch.inf)", "fill(~(mask | empty), 0.0)"),
        ("core/steps.py", "06", "inf, not -inf", "fill(~(mask | empty), -torch.inf)", "fill(~(mask | empty), torch.inf)"),
        ("core/steps.py", "06 07", "small fill", "fill(~(mask | empty), -torch.inf)", "fill(~(mask | empty), -5.0)"),
        ("core/steps.py", "06", "NaN rows", "fill(~(mask | empty), -torch.inf)\n    return masked.softmax(dim=-1).masked_fill(empty, 0.0)", "fill(~mask, -torch.inf)\n    return masked.softmax(dim=-1)"),
        ("core/steps.py", "06", "ones in empty rows", "(empty, 0.0)", "(empty, 1.0)"),
        ("core/steps.py", "01 03", "weights transposed", "return weights @ v, w", "return weights.mT @ v, w"),
        ("core/steps.py", "06 03", "attention without mask", "scores(q, k), mask)", "scores(q, k), None)"),
        ("core/steps.py", "01 03", "q for k", "attention_scores(q, k), mask", "attention_scores(k, q), mask"),
        ("core/steps.py", "06", "causal off by one", CAUSAL, CAUSAL[:-1] + " - 1)"),
        ("core/steps.py", "06", "causal sees the next", CAUSAL, CAUSAL[:-1] + " + 1)"),
        ("core/steps.py", "06", "causal top left", CAUSAL, "everywhere.tril()"),
        ("core/steps.py", "06", "causal upside down", CAUSAL, CAUSAL.replace("tril", "triu")),
        ("core/steps.py", "06", "T keys always", "torch.ones(query_len, key_len,", "torch.ones(query_len, query_len,"),
        ("core/steps.py", "06", "padding inverted", "(positions < lengths", "(positions >= lengths"),
        ("core/steps.py", "06", "one padding key too many", "(positions < lengths", "(positions <= lengths"),
        ("core/steps.py", "06", "padding over queries", "[:, None, None, :]", "[:, None, :, None]"),
        ("core/steps.py", "05 09", "direct view", "return q.view(batch_size, seq_len, num_heads, embed_dim // num_heads).transpose(1, 2)", "return q.reshape(batch_size, num_heads, seq_len, embed_dim // num_heads)"),
        ("core/steps.py", "05 09", "columns dealt out", "q.view(batch_size, seq_len, num_heads, embed_dim // num_heads).transpose(1, 2)", "q.unflatten(-1, (-1, num_heads)).permute(0, 3, 1, 2)"),
        ("core/steps.py", "05 09", "split copies", "embed_dim // num_heads).transpose(1, 2)", "embed_dim // num_heads).transpose(1, 2).clone()"),
        ("core/steps.py", "09", "merge without transpose", "heads.transpose(1, 2).reshape", "heads.reshape"),
        ("core/steps.py", "09", "merge mixes columns", "heads.transpose(1, 2).reshape", "heads.permute(0, 2, 3, 1).reshape"),
        ("core/steps.py", "09", "merge turned round", "heads.transpose(1, 2).reshape", "heads.flip(1).transpose(1, 2).reshape"),
        ("core/steps.py", "09", "merge copies", "seq_len, num_heads * head_dim)", "seq_len, num_heads * head_dim).clone()"),
        ("core/steps.py", "08", "drop: no 1/(1 - p)", "(draw >= p) / (1 - p)", "(draw >= p)"),
        ("core/steps.py", "08", "drop: divided by p", "(draw >= p) / (1 - p)", "(draw >= p) / p"),
        ("core/steps.py", "08", "drop: keeps with p", "(draw >= p)", "(draw < p)"),
        ("core/steps.py", "08", "drop: one draw for all rows", "rand(weights.shape,", "rand(weights.shape[-1:],"),
        ("core/steps.py", "08", "drop: NaN for p = 1", "if p == 1:", "if p == 2:"),
        ("core/heads.py", "01", "head: v through k", "self.k_proj(x), self.v_proj(x), mask)", "self.k_proj(x), self.k_proj(x), mask)"),
        ("core/heads.py", "01 06", "head: no mask", "self.v_proj(x), mask)", "self.v_proj(x), None)"),
        ("core/heads.py", "03", "stack: v from k", "copies @ self.v_weight", "copies @ self.k_weight"),
        ("core/heads.py", "03", "stack: heads turned round", "cat(heads.unbind(dim=1)", "cat(heads.flip(1).unbind(dim=1)"),
        ("core/heads.py", "03 06", "stack: no mask", "attention(q, k, v, mask)", "attention(q, k, v)"),
        ("core/modules.py", "10", "module: q and k swapped", "projected = self.q_proj(x)", "projected = self.k_proj(x)"),
        ("core/modules.py", "10", "module: keys from x", "self.k_proj(context)", "self.k_proj(x)"),
        ("core/modules.py", "10", "module: v through k", "self.v_proj(values)", "self.k_proj(values)"),
        ("core/modules.py", "10", "module: mask replaces causal", "scores = scores.masked_fill_(~causal, -torch.inf)", "scores = scores"),
        ("core/modules.py", "10", "module: causal inverted", "masked_fill_(~causal", "masked_fill_(causal"),
        ("core/modules.py", "10 12", "module: causal replaces mask", "mask & causal", "causal"),
        ("core/modules.py", "10", "module: causal only in training", "        if is_causal:", "        if is_causal and self.training:"),
        ("core/modules.py", "10", "module: mask not used", "attention_weights(scores, mask)", "attention_weights(scores)"),
        ("core/modules.py", "10", "module: drops in evaluation", "self.dropout, self.training) @", "self.dropout) @"),
        ("core/modules.py", "10 12", "module: never drops", "F.dropout(weights, self.dropout, self.training)", "weights"),
        ("core/modules.py", "10 12", "module: drops the scores", "attention_weights(scores, mask)", "attention_weights(F.dropout(scores, self.dropout, self.training), mask)"),
        ("core/modules.py", "10 12", "module: drops the values", "F.dropout(weights, self.dropout, self.training) @ v", "weights @ F.dropout(v, self.dropout, self.training)"),
        ("core/modules.py", "10", "module: no output layer", "self.out_proj(merge_heads(heads))", "merge_heads(heads)"),
        ("core/modules.py", "10", "module: averaged weights", "@ v, weights", "@ v, weights.mean(1, True).expand_as(weights)"),
        ("core/modules.py", "10", "module: detached scores", "scores = attention_scores(q, k)", "scores = attention_scores(q, k).detach()"),
        ("core/modules.py", "10", "module: bias always", '{"bias": bias, ', '{"bias": True, '),
        ("core/porting.py", "10", "porting: q and k swapped", "(ours.q_proj, ours.k_proj, ours.v_proj)", "(ours.k_proj, ours.q_proj, ours.v_proj)"),
        ("core/porting.py", "10", "porting: no output layer", "pairs.append((ours.out_proj.weight, theirs.out_proj.weight))", "pass"),
        ("core/masks.py", "06 10", "dialects: not inverted", "return ~mask.expand(query_len, key_len)", "return mask.expand(query_len, key_len)"),
        ("core/masks.py", "06 10", "dialects: not inverted for heads", "return ~mask.expand(scores_shape)", "return mask.expand(scores_shape)"),
        ("core/masks.py", "06", "dialects: additive inverted", "masked_fill(~mask", "masked_fill(mask"),
        ("core/masks.py", "06", "leak map transposed", ".sum(dim=(1, 3)).sqrt()", ".sum(dim=(1, 3)).sqrt().mT"),
        ("core/masks.py", "06", "leak map not squared", "jacobian.square()", "jacobian"),
        ("core/kernels.py", "11", "fused: only the causal mask", "causal if mask is None else mask & causal", "causal"),
        ("core/kernels.py", "11", "fused: empty rows see all", "added, **options).masked_fill(empty, 0.0)", "added, **options)"),
        ("core/kernels.py", "11", "products: no scale", "(q * q.shape[-1] ** -0.5) @ k.mT", "q @ k.mT"),
        ("core/kernels.py", "11", "products: no 1/(1 - p)", " * (65536 / (65536 - limit))", ""),
        ("core/kernels.py", "11", "products: half the dropout", "limit = int(p * 65536)", "limit = int(p * 32768)"),
        ("core/modules.py", "11", "fused: drops in evaluation", "self.dropout if self.training else 0.0", "self.dropout"),
        ("core/modules.py", "11", "fused: never drops", "self.dropout if self.training else 0.0", "0.0"),
        ("core/modules.py", "11", "fused: v is k", "attend_unchecked(q, k, v,", "attend_unchecked(q, k, k,"),
        ("core/modules.py", "11", "fused: weights without the mask", "super().compute_heads(q, k, v, mask,", "super().compute_heads(q, k, v, None,"),
        ("reference/__init__.py", "01 03", "reference: no scale", "scale = math.sqrt(len(query))", "scale = 1.0"),
        ("reference/__init__.py", "10", "reference: no scale in arrays", "k) / math.sqrt(q.shape[-1])\n    allowed", "k)\n    allowed"),
        ("reference/__init__.py", "10", "reference: gradient of k", '"...ts,...td->...sd", grad_scores, q)', '"...ts,...td->...sd", weights, q)'),
    )
]  # fmt: skip
