"""Read a GGUF file: its settings and its tensors, put back from 4 or 8 bits to float32.

Source: docs/gguf.md of the repository ggml-org/ggml, and its block types Q4_1 and Q8_0.
"""

import struct
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from mha_utils.records import reading

SCALARS = {
    0: "B",
    1: "b",
    2: "H",
    3: "h",
    4: "I",
    5: "i",
    6: "f",
    7: "?",
    10: "Q",
    11: "q",
    12: "d",
}
STRING, ARRAY = 8, 9


class _Reader:
    def __init__(self, data: memoryview):
        self.data, self.at = data, 0

    def take(self, kind: str):
        value = struct.unpack_from(f"<{kind}", self.data, self.at)[0]
        self.at += struct.calcsize(kind)
        return value

    def text(self) -> str:
        length = self.take("Q")
        self.at += length
        return bytes(self.data[self.at - length : self.at]).decode("utf-8")

    def value(self, kind: int):
        if kind == STRING:
            return self.text()
        if kind == ARRAY:
            inner, count = self.take("I"), self.take("Q")
            return [self.value(inner) for _ in range(count)]
        return self.take(SCALARS[kind])


def read_gguf(path: Path) -> tuple[dict, dict[str, Tensor]]:
    """Settings and float32 tensors by name.

    Raises:
        ValueError: if the file is no GGUF file or cut off, or a tensor has a type that is not read
            here; the text names the file.
    """
    with reading(path, "GGUF"):
        return _read(_Reader(memoryview(np.memmap(path, mode="r"))))


def _read(reader: _Reader) -> tuple[dict, dict[str, Tensor]]:
    if bytes(reader.data[:4]) != b"GGUF":
        raise ValueError(f"it starts with {bytes(reader.data[:4])}")
    reader.at = 8
    num_tensors, num_settings = reader.take("Q"), reader.take("Q")
    settings = {reader.text(): reader.value(reader.take("I")) for _ in range(num_settings)}
    places = []
    for _ in range(num_tensors):
        name, rank = reader.text(), reader.take("I")
        shape = [reader.take("Q") for _ in range(rank)][::-1]
        places.append((name, shape, reader.take("I"), reader.take("Q")))
    step = settings.get("general.alignment", 32)
    start = (reader.at + step - 1) // step * step
    tensors = {}
    for name, shape, kind, offset in places:
        if kind not in UNPACK:
            raise ValueError(f"tensor {name} has type {kind}; read are {list(UNPACK)}")
        unpack, block, size = UNPACK[kind]
        length = int(np.prod(shape)) // block * size
        raw = np.frombuffer(reader.data[start + offset : start + offset + length], np.uint8)
        tensors[name] = torch.tensor(unpack(raw.reshape(-1, size)).reshape(shape))
    return settings, tensors


def _floats(blocks: np.ndarray) -> np.ndarray:
    return blocks.view("<f4")


def _q8_0(blocks: np.ndarray) -> np.ndarray:
    """32 numbers: a float16 scale, then 32 signed bytes."""
    scale = blocks[:, :2].copy().view("<f2").astype(np.float32)
    return scale * blocks[:, 2:].copy().view(np.int8)


def _q4_1(blocks: np.ndarray) -> np.ndarray:
    """32 numbers: a float16 scale, a float16 offset, 16 bytes with two numbers of 4 bits each."""
    scale = blocks[:, :2].copy().view("<f2").astype(np.float32)
    offset = blocks[:, 2:4].copy().view("<f2").astype(np.float32)
    packed = blocks[:, 4:]
    return scale * np.concatenate([packed & 15, packed >> 4], axis=1) + offset


UNPACK = {0: (_floats, 1, 4), 3: (_q4_1, 32, 20), 8: (_q8_0, 32, 34)}  # numbers, bytes a block
