"""Badges that open the series on Colab and Binder: `make badges` writes README's.

They are made from one setting, `repository` in pyproject.toml; while it is empty there are none.
"""

import re
import tomllib
from urllib.parse import quote

from tools.planting import ROOT

GITHUB = re.compile(r"https://github\.com/([\w-]+/[\w.-]+?)(?:\.git)?/?")
BADGES = re.compile(r"\[!\[Open in Colab\].*\n+")
INSTALL = re.compile(r"(?<=%pip install git\+)[^`\s]+")
FIRST = "00_start_here"


def repository() -> str:
    """The address in the setting, or nothing."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    return project["tool"]["mha"]["repository"]


def with_badges(text: str, address: str, chapter: str = FIRST, folder: str = "", told=False) -> str:
    """Markdown that begins with a title, and below it the badges that open a chapter.

    Args:
        text: may have badges already: they are replaced, or taken out if there is no address.
        address: of the repository on GitHub, or nothing.
        chapter: the name of the notebook, without its ending.
        folder: where `media/` lies, seen from the text.
        told: whether to say beside them what Colab has to install.

    Raises:
        ValueError: if the address is another one than GitHub's, which Colab can not open.
    """
    title, _, rest = text.partition("\n")
    shown = badges(address, chapter, folder) if address else ""
    if shown and told:
        shown += f" On Colab, first run `%pip install git+{address}`."
    return "\n\n".join([title, *[shown][: bool(shown)], BADGES.sub("", rest).lstrip("\n")])


def badges(address: str, chapter: str, folder: str) -> str:
    """Both badges in one line of markdown; their pictures are the series' own."""
    if not (found := GITHUB.fullmatch(address)):
        raise ValueError(f"repository must be https://github.com/OWNER/NAME, got {address!r}")
    colab, binder = "https://colab.research.google.com/github", "https://mybinder.org/v2/gh"
    notebook = f"notebooks/{chapter}.ipynb"
    places = {
        "Colab": f"{colab}/{found[1]}/blob/main/{notebook}",
        "Binder": f"{binder}/{found[1]}/main?urlpath={quote(f'lab/tree/{notebook}', safe='')}",
    }
    return " ".join(
        f"[![Open in {name}]({folder}media/open_in_{name.lower()}.svg)]({place})"
        for name, place in places.items()
    )


def readme(text: str, address: str) -> str:
    """README with the badges of this address, and with what Colab has to install."""
    return INSTALL.sub(address or "ADDRESS", with_badges(text, address))


def main() -> None:
    path = ROOT / "README.md"
    path.write_text(readme(path.read_text("utf-8"), repository()), "utf-8")


if __name__ == "__main__":
    main()
