"""The format of a stored benchmark: results, hardware and versions as JSON."""

import datetime
import importlib.metadata
import json
import os
import platform
import re
from pathlib import Path

import torch

from mha_utils.records import read_record, write_text

MACHINE = ("device", "hardware", "threads", "versions", "date")
LIMITS = ("matmul_flops_per_second", "copied_bytes_per_second")
FOLDER = Path(__file__).parents[2] / "benchmarks"  # of a checkout; your own records, too
STORED = Path(__file__).parent / "records"  # what ships with the package
PACKAGES = ("torch", "numpy", "x-transformers", "transformers")


def describe_machine(device: str) -> dict:
    """The hardware, threads, versions and date that a measured number belongs to."""
    return {
        "device": device,
        "hardware": _gpu_name() if device == "cuda" else _cpu_name(),
        "instructions": torch.backends.cpu.get_cpu_capability(),
        "threads": torch.get_num_threads(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "versions": _versions(),
        "date": datetime.date.today().isoformat(),
    }


def save_record(record: dict, path: Path) -> None:
    """Write a record as a whole or not at all; floats get five significant digits.

    Raises:
        ValueError: if nothing can be written there.
    """
    write_text(path, json.dumps(_rounded(record), indent=1) + "\n")


def load_records(folder: Path | str | None = None) -> list[dict]:
    """All records of a folder, CPUs before GPUs and whole tables before short ones.

    When left out: of each device those that ship with the package, then those that `make bench`
    wrote here: chapters speak of the first. Other tables (of faults, roundings, versions) may lie
    beside them.

    Raises:
        ValueError: if the folder holds none, or a file that is cut off or incomplete.
    """
    folders = (STORED, FOLDER) if folder is None else (Path(folder),)
    records = [record for each in folders for record in _records_in(each)]
    if not records:
        raise ValueError(f"no records of `python -m mha_utils.bench` in {folder or STORED}")
    return sorted(records, key=lambda r: r["machine"]["device"])


def _records_in(folder: Path) -> list[dict]:
    """Whole tables first."""
    found = [(path, read_record(path, ())) for path in sorted(folder.glob("*.json"))]
    records = [_whole(path, record) for path, record in found if {"cases", "limits"} & set(record)]
    return sorted(records, key=lambda r: -len(r["cases"]))


def load_table(name: str) -> dict:
    """Another table of the repository, as "faults".

    Raises:
        ValueError: if there is no such table, or it is cut off.
    """
    return read_record(FOLDER / f"{name}.json", ())


def _whole(path: Path, record: dict) -> dict:
    """The record, if it has all that pictures and tests need."""
    read_record(path, ("machine", "limits", "cases"))
    parts = {"machine": MACHINE, "limits": LIMITS}
    missing = [f"{a}.{b}" for a, names in parts.items() for b in names if b not in record[a]]
    if missing or not record["cases"]:
        raise ValueError(f"{path} is no whole record: it has no {missing or ['cases']}")
    return record


def find_case(record: dict, **values) -> dict:
    """The one case with these values, as in `find_case(record, shape=(2, 128, 512, 8), ...)`.

    Raises:
        ValueError: if none or several cases have them.
    """
    values = {key: list(v) if isinstance(v, tuple) else v for key, v in values.items()}
    found = [c for c in record["cases"] if all(c.get(key) == v for key, v in values.items())]
    if len(found) != 1:
        raise ValueError(f"expected one case with {values}, found {len(found)}")
    return found[0]


def default_path(machine: dict) -> Path:
    """`benchmarks/` and the hardware's name."""
    slug = re.sub(r"[^a-z0-9]+", "-", machine["hardware"].lower()).strip("-")
    return Path("benchmarks", f"{slug}.json")


def _cpu_name() -> str:
    known = getattr(torch.cpu, "get_capabilities", dict)()  # torch before 2.10 does not say
    name = known.get("cpu_name") or platform.processor() or platform.machine()
    return f"{name}, {os.cpu_count()} cores"


def _gpu_name() -> str:
    return torch.cuda.get_device_name()


def _versions() -> dict:
    found = {}
    for package in PACKAGES:
        try:
            found[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found | {"cuda": torch.version.cuda, "cudnn": torch.backends.cudnn.version()}


def _rounded(value):
    if isinstance(value, float):
        return float(f"{value:.5g}")
    if isinstance(value, dict):
        return {key: _rounded(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_rounded(item) for item in value]
    return value
