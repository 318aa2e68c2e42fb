"""A Chromium for the browser tests; `python -m tools.browser.chromium` gets one if none is here."""

import functools
import os
import shutil
import subprocess
import sys
from pathlib import Path

NO_BROWSER = "no Chromium or Chrome was found"
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
APPS = ("Google Chrome.app/Contents/MacOS/Google Chrome", "Chromium.app/Contents/MacOS/Chromium")
PLAYWRIGHTS = ("chromium-*/chrome-linux*/chrome", "chromium-*/chrome-mac*/*.app/Contents/MacOS/*")
CACHES = {"darwin": "~/Library/Caches/ms-playwright"}
INSTALL = [sys.executable, "-m", "playwright", "install", "--no-shell", "chromium"]
PACKAGES = {
    "apt-get": "sudo apt-get install chromium",
    "dnf": "sudo dnf install chromium",
    "pacman": "sudo pacman -S chromium",
    "zypper": "sudo zypper install chromium",
    "brew": "brew install --cask google-chrome",
    "": "install Chromium or Chrome, then start the tests again",
}


@functools.cache
def chromium() -> str | None:
    """The path of a Chromium that starts: MHA_CHROMIUM, the machine's, else Playwright's."""
    named = os.environ.get("MHA_CHROMIUM")
    return next((path for path in ([named] if named else _candidates()) if _starts(path)), None)


def _candidates() -> list[str]:
    installed = [path for name in NAMES if (path := shutil.which(name))]
    apps = [str(Path("/Applications", app)) for app in APPS]
    cache = os.environ.get("PLAYWRIGHT_BROWSERS_PATH") or CACHES.get(
        sys.platform, "~/.cache/ms-playwright"
    )
    folder = Path(os.path.expanduser(cache))
    found = (str(path) for pattern in PLAYWRIGHTS for path in folder.glob(pattern))
    return installed + apps + sorted(found, reverse=True)


def _starts(path: str) -> bool:
    """A script that only asks for another package, or a browser without its libraries, does not."""
    try:
        return subprocess.run([path, "--version"], capture_output=True, timeout=60).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False


def advice() -> str:
    """The one command that helps where Playwright's cannot be had."""
    managers = (name for name in PACKAGES if shutil.which(name))
    return PACKAGES[next(managers, "")]


def get() -> str | None:
    """Playwright's Chromium, downloaded once into its own cache; None where that fails."""
    print(
        "No Chromium found: getting Playwright's for the browser tests (170 MB, once).", flush=True
    )
    patience = {"PLAYWRIGHT_DOWNLOAD_CONNECTION_TIMEOUT": "10000"}
    subprocess.run(INSTALL, env=os.environ | patience, capture_output=True)
    chromium.cache_clear()
    return chromium()


def main() -> str | None:
    """Why the tests must not start, if they must not."""
    if chromium() or get():
        return None
    missing = f"No Chromium, and Playwright's could not be had. What helps: {advice()}"
    if os.environ.get("MHA_REQUIRE_BROWSER"):
        return f"{missing}\nMHA_REQUIRE_BROWSER is set: stopping before the tests."
    print(f"{missing}\nGoing on without the browser tests.")
    return None


if __name__ == "__main__":
    sys.exit(main())
