"""Real JupyterLab in real Chromium: what the browser tests and the view benchmark stand on."""

import contextlib
import json
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

from playwright.sync_api import Browser, Locator, Page, sync_playwright

from mha_utils.left_out import SWITCH
from tools.browser.chromium import NO_BROWSER, chromium
from tools.suite import threads

ROOT = Path(__file__).parents[2]
FLAGS = [
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-sync",
    "--disable-background-networking",
    "--disable-component-update",
]


@contextlib.contextmanager
def browser() -> Iterator[Browser]:
    if chromium() is None:
        raise RuntimeError(NO_BROWSER)
    with sync_playwright() as playwright:
        yield playwright.chromium.launch(executable_path=chromium(), args=FLAGS)


@contextlib.contextmanager
def jupyter_server(root: Path) -> Iterator[str]:
    """A private JupyterLab with its own settings; yields its address."""
    with socket.socket() as free, tempfile.TemporaryDirectory() as home:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
        free.close()
        folders = {f"JUPYTER_{n}_DIR": f"{home}/{n.lower()}" for n in ("CONFIG", "DATA", "RUNTIME")}
        folders["JUPYTERLAB_SETTINGS_DIR"] = f"{home}/settings"
        folders["JUPYTERLAB_WORKSPACES_DIR"] = f"{home}/workspaces"
        command = [sys.executable, "-m", "jupyter", "lab", "--no-browser", "--allow-root"]
        command += [f"--port={port}", "--ServerApp.port_retries=0", "--IdentityProvider.token="]
        command += ["--ServerApp.ip=127.0.0.1", f"--ServerApp.root_dir={root}"]
        command += ["--LabApp.expose_app_in_browser=True"]
        _no_questions(Path(home))
        with open(f"{home}/log", "w") as log:
            env = threads.of_a_reader() | folders | {SWITCH: ""}
            server = subprocess.Popen(command, env=env, stdout=log, stderr=log)
        address = f"http://127.0.0.1:{port}"
        try:
            _wait_for(server, address, Path(f"{home}/log"))
            yield address
        finally:
            _stop(server)


def _stop(server: subprocess.Popen) -> None:
    """Ask it to stop, then make it: its kernels leave when they see that it is gone."""
    server.terminate()
    try:
        server.wait(timeout=20)
    except subprocess.TimeoutExpired:
        server.kill()
        server.wait()


def _no_questions(home: Path) -> None:
    folder = home / "settings" / "@jupyterlab" / "apputils-extension"
    folder.mkdir(parents=True)
    settings = {"fetchNews": "false", "checkForUpdates": False}
    (folder / "notification.jupyterlab-settings").write_text(json.dumps(settings))


def _wait_for(server: subprocess.Popen, address: str, log: Path) -> None:
    for _ in range(240):
        if server.poll() is not None:
            break
        with contextlib.suppress(OSError):
            urllib.request.urlopen(f"{address}/api/status", timeout=5)
            return
        time.sleep(0.25)
    raise RuntimeError(f"JupyterLab did not start:\n{log.read_text()[-3000:]}")


class Lab:
    """One notebook, open in JupyterLab."""

    def __init__(self, page: Page, address: str):
        self.page, self.address = page, address

    def open(self, notebook: str) -> None:
        self.page.goto(f"{self.address}/lab/tree/{notebook}?reset", wait_until="domcontentloaded")
        self.page.wait_for_selector(".jp-Notebook .jp-CodeCell", timeout=60_000)
        self.wait_idle()

    def wait_idle(self, timeout: float = 60_000) -> None:
        self.page.wait_for_function(
            """() => {
              const session = window.jupyterapp?.shell?.currentWidget?.sessionContext;
              return session?.isReady && session.session?.kernel?.status === "idle";
            }""",
            timeout=timeout,
        )

    def shut_down(self) -> None:
        """End all kernels, or they pile up at about 300 MB each."""
        self.page.evaluate("() => window.jupyterapp.serviceManager.sessions.shutdownAll()")

    def command(self, name: str, **arguments) -> None:
        """Start one of JupyterLab's commands, as its menus do."""
        execute = "([name, args]) => { window.jupyterapp.commands.execute(name, args); }"
        self.page.evaluate(execute, [name, arguments])

    def dark(self) -> None:
        self.command("apputils:change-theme", theme="JupyterLab Dark")
        self.page.wait_for_selector("body[data-jp-theme-light=false]", state="attached")

    def run_all(self, timeout: float = 600_000) -> None:
        """Run every cell in the fresh kernel and wait until the last one is done."""
        self.command("notebook:clear-all-cell-outputs")
        self.command("notebook:run-all-cells")
        self.page.wait_for_function(
            """() => {
              const panel = window.jupyterapp?.shell?.currentWidget;
              const cells = panel?.content?.model?.cells;
              if (!cells) return false;
              const idle = panel.sessionContext.session?.kernel?.status === "idle";
              const code = Array.from(cells).filter((c) => c.type === "code");
              const counts = code.map((c) => c.executionCount);
              return idle && counts.every((count, i) => count === i + 1);
            }""",
            timeout=timeout,
        )

    def error_outputs(self) -> list[str]:
        """Texts of all error outputs, also of cells that are scrolled away."""
        return self.page.evaluate(
            """() => {
              const cells = window.jupyterapp.shell.currentWidget.content.model.cells;
              return Array.from(cells).flatMap((cell) => cell.toJSON().outputs ?? [])
                .filter((o) => o.output_type === "error" || o.name === "stderr")
                .map((o) => o.evalue ?? String(o.text));
            }"""
        )

    def output(self, cell: int) -> str:
        """What stands below a cell that is in sight."""
        place = f'[data-windowed-list-index="{cell}"] .jp-OutputArea-output'
        return self.page.locator(place).first.inner_text()

    def wait_for_output(self, cell: int, start: str, timeout: float = 20_000) -> None:
        self.page.wait_for_function(
            """([cell, start]) => document
                .querySelector(`[data-windowed-list-index="${cell}"] .jp-OutputArea-output`)
                ?.innerText.startsWith(start)""",
            arg=[cell, start],
            timeout=timeout,
        )

    def edit(self, cell: int, source: str) -> None:
        """Write another source into a cell, as a reader types it."""
        self.page.evaluate(
            """([cell, source]) => window.jupyterapp.shell.currentWidget
                .content.model.cells.get(cell).sharedModel.setSource(source)""",
            [cell, source],
        )

    def views(self) -> list[int]:
        """The places of all cells that show a live view."""
        return self.page.evaluate(
            """() => {
              const cells = window.jupyterapp.shell.currentWidget.content.model.cells;
              const shows = (cell) => (cell.toJSON().outputs ?? []).some((output) =>
                "application/vnd.jupyter.widget-view+json" in (output.data ?? {}));
              return Array.from(cells).flatMap((cell, at) => (shows(cell) ? [at] : []));
            }"""
        )

    def view(self, cell: int) -> Locator:
        """The live view of one cell, scrolled into sight."""
        self.page.evaluate(
            """(index) => {
              const panel = window.jupyterapp.shell.currentWidget;
              panel.content.activeCellIndex = index;
              return panel.content.scrollToItem(index, "start");
            }""",
            cell,
        )
        view = self.page.locator(f'[data-windowed-list-index="{cell}"] .mha-view')
        view.wait_for(timeout=30_000)
        view.scroll_into_view_if_needed()
        return view
