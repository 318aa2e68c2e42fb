"""How many planted bugs does the check of a layer name? `make named`, `python -m tools.named`.

`tests/styles/` has right layers in the styles of known packages, and for each a list of bugs: what
a report has to say, and pieces of the text with what stands in their places. Of every bug is
counted whether it is found, and whether the report says what is wrong: nothing else is a name.
"""

import argparse
import importlib.util
import json
import sys
import tempfile
import tomllib
from collections import Counter
from pathlib import Path

from mha_utils.checks import check_multi_head_attention
from tools.planting import ROOT, where

STYLES = ROOT / "tests" / "styles"
TABLE = ROOT / "benchmarks" / "named.json"
OUTCOMES = ("named", "unnamed", "misnamed", "not found")


def styles() -> list[str]:
    return sorted(path.stem for path in STYLES.glob("*.toml"))


def plan(style: str) -> dict:
    """`options` of the check, and `bugs`: lists of a name, a text, its replacement, and so on."""
    return {"options": {}} | tomllib.loads((STYLES / f"{style}.toml").read_text("utf-8"))


def planted(style: str, *texts: str) -> str:
    """The source of a style with some texts replaced.

    Raises:
        ValueError: if one of them does not stand in it.
    """
    source = (STYLES / f"{style}.py").read_text("utf-8")
    for old, new in zip(texts[::2], texts[1::2], strict=True):
        if old not in source:
            raise ValueError(f"{style} has no {old!r}")
        source = source.replace(old, new)
    return source


def report_on(style: str, source: str) -> str:
    """What the check says of a layer with this source."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"{style}.py"
        path.write_text(source, "utf-8")
        spec = importlib.util.spec_from_file_location("planted_layer", path)
        module = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = module  # where the check looks for a config
        spec.loader.exec_module(module)
        adapter, options = getattr(module, "adapter", None), plan(style)["options"]
        try:
            return repr(check_multi_head_attention(module.Attention, adapter, **options))
        except (ValueError, RuntimeError) as error:
            return f"could not be tried: {error}"


def outcome(name: str, report: str) -> str:
    """One of OUTCOMES; `name` may list several that are true, with | between them."""
    if report.startswith("✓"):
        return "not found"
    if any(one.strip() in report for one in name.split("|")):
        return "named"
    return "misnamed" if "equals: " in report else "unnamed"


def described(name: str, old: str, new: str, *_) -> str:
    """A bug in one line: its name and what was planted."""
    return f"{name}: {old.strip()} -> {new.strip()}"


def measure(style: str) -> dict[str, list[str]]:
    """The bugs of a style by their outcomes."""
    found = {kind: [] for kind in OUTCOMES}
    for name, *texts in plan(style)["bugs"]:
        report = report_on(style, planted(style, *texts))
        kind = outcome(name, report)
        found[kind].append(described(name, *texts))
        if kind != "named":
            print(f"{style}, {found[kind][-1]}: {kind}\n{report}\n")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("styles", nargs="*", default=styles())
    parser.add_argument("--store", action="store_true", help=f"keep the result in {TABLE.name}")
    options = parser.parse_args()
    found = {style: measure(style) for style in options.styles}
    counts = {s: {kind: len(bugs) for kind, bugs in found[s].items()} for s in found}
    total = sum(map(Counter, counts.values()), Counter())
    for style, count in (*counts.items(), ("all", total)):
        share = count["named"] / sum(count.values())
        print(f"{style:15} {share:4.0%} named  {dict(count)}")
    if options.store:
        store(found, counts)


def store(found: dict, counts: dict) -> None:
    """Exchange the rows of these styles in the table."""
    old = json.loads(TABLE.read_text("utf-8")) if TABLE.exists() else {}
    left = {s: {k: bugs for k, bugs in found[s].items() if k != "named"} for s in found}
    rows = {"styles": old.get("styles", {}) | counts, "not named": old.get("not named", {}) | left}
    text = json.dumps(where() | rows, indent=1, ensure_ascii=False)
    TABLE.write_text(text + "\n", "utf-8")


if __name__ == "__main__":
    main()
