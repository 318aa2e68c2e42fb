"""Watch a live view as a reader does: move its native controls, note what it says and draws."""

from view_host import host

# Frames and pauses are over at once, and everything drawn on a canvas is noted: what, where in
# CSS pixels, in which colour. A new picture starts with `clearRect`.
RECORDER = """() => {
  window.nextFrame = window.requestAnimationFrame.bind(window);
  const soon = (call) => { queueMicrotask(() => call(performance.now())); return 1; };
  window.requestAnimationFrame = soon;
  window.setTimeout = soon;
  let chance = 0.1; // the same random numbers each time
  Math.random = () => (chance = (chance * 16807 + 0.1) % 1);
  const notes = new WeakMap();
  window.notesOf = (canvas) => notes.get(canvas) ?? [];
  const style = (kind) => (kind instanceof CanvasPattern ? "hatch" : String(kind));
  const at = (pen, x, y) => {
    const { a, b, c, d, e, f } = pen.getTransform();
    return [a * x + c * y + e, b * x + d * y + f].map((n) => n / devicePixelRatio);
  };
  let path = [];
  const note = (pen, what, x, y, more) => {
    const place = at(pen, x, y);
    if (!notes.has(pen.canvas)) notes.set(pen.canvas, []);
    notes.get(pen.canvas).push({ what, x: place[0], y: place[1], fill: style(pen.fillStyle),
      stroke: style(pen.strokeStyle), line: pen.lineWidth, dash: pen.getLineDash(),
      alpha: pen.globalAlpha, ...more });
  };
  const watched = {
    clearRect: (pen) => notes.set(pen.canvas, []),
    fillRect: (pen, x, y, w, h) => note(pen, "rect", x, y, { w, h }),
    strokeRect: (pen, x, y, w, h) => note(pen, "frame", x, y, { w, h }),
    fillText: (pen, text, x, y) => note(pen, "text", x, y, { text: String(text),
      align: pen.textAlign, turned: Math.sign(pen.getTransform().b),
      wide: pen.measureText(text).width, font: pen.font, base: pen.textBaseline }),
    beginPath: () => { path = []; },
    moveTo: (pen, x, y) => path.push(at(pen, x, y)),
    lineTo: (pen, x, y) => path.push(at(pen, x, y)),
    arc: (pen, x, y) => path.push(at(pen, x, y)),
    rect: (pen, x, y, w, h) => path.push([...at(pen, x, y), w, h]),
    stroke: (pen) => note(pen, "stroke", 0, 0, { path }),
    fill: (pen) => note(pen, "fill", 0, 0, { path }),
    drawImage(pen, source, ...box) {
      const [sx, sy, sw, sh, x, y, w, h] = box.length === 4
        ? [0, 0, source.width, source.height, ...box] : box;
      const { data } = source.getContext("2d").getImageData(sx, sy, sw, sh);
      const pixels = Array.from({ length: sw * sh }, (_, n) => [...data.slice(4 * n, 4 * n + 3)]);
      note(pen, "image", x, y, { w, h, columns: sw, pixels });
    },
  };
  for (const [name, call] of Object.entries(watched)) {
    const original = CanvasRenderingContext2D.prototype[name];
    CanvasRenderingContext2D.prototype[name] = function (...given) {
      call(this, ...given);
      return original.apply(this, given);
    };
  }
}"""

MAY_BE_NONE = ("other",)  # traits of which None is a value
INK = "rgb(10, 20, 90)"  # of the page: nothing else is drawn in it

# `play(acts, traits, full)`: one act after the other, and what the view shows after each of them.
PLAYER = """() => {
  const root = document.querySelector(".mha-view");
  const nameOf = (node) => node.getAttribute("aria-label")
    ?? (node.labels?.length ? node.labels[0].textContent : node.textContent);
  const controls = () => [...root.querySelectorAll("input, select, button")];
  const shown = (node) => getComputedStyle(node).visibility !== "hidden";
  const texts = (table) => [...table.rows].filter(shown)
    .map((row) => [...row.cells].map((cell) => cell.textContent));
  const pictures = () => [...root.querySelectorAll("canvas")].map((canvas) => ({
    label: canvas.getAttribute("aria-label"), role: canvas.getAttribute("role"),
    isStop: canvas.tabIndex === 0, notes: window.notesOf(canvas),
    width: canvas.clientWidth, height: canvas.clientHeight, left: canvas.offsetLeft,
    drawn: [canvas.width, canvas.height].map((size) => size / devicePixelRatio),
    room: canvas.parentElement.clientWidth,
  }));
  const marked = (name) => [...root.querySelectorAll(`tr.${name}`)].filter(shown)
    .map((row) => row.rowIndex);
  const forbidden = () => [...root.querySelectorAll("table.mha-bits td")]
    .map((cell) => cell.classList.contains("mha-forbidden"));
  const taken = () => [...root.querySelectorAll("[role=radiogroup] [role=radio]")]
    .map((node) => [node.getAttribute("aria-checked") === "true", node.tabIndex === 0]);
  window.inventory = () => controls().map((node, place) => ({
    place, name: nameOf(node), kind: node.type, min: Number(node.min), max: Number(node.max),
    step: Number(node.step), options: [...(node.options ?? [])].map(({ value }) => value),
  }));
  const acts = {
    move(place, value) {
      const node = controls()[place];
      if (node.disabled) return;
      if (node.type === "checkbox" || node.type === "radio" || node.type === "button") node.click();
      else {
        node.value = value;
        node.dispatchEvent(new Event(node.type === "select-one" ? "change" : "input"));
      }
    },
    key(canvas, key) {
      const node = canvas < 0 ? root.querySelector("[role=radiogroup]")
        : root.querySelectorAll("canvas")[canvas];
      node.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
    },
    point(canvas, x, y, kind = "pointerdown", held = kind === "pointerdown") {
      const node = root.querySelectorAll("canvas")[canvas];
      const { left, top } = node.getBoundingClientRect();
      node.setPointerCapture = () => {};
      node.dispatchEvent(new PointerEvent(kind, { clientX: left + x, clientY: top + y,
        bubbles: true, buttons: held ? 1 : 0 }));
    },
    trait: (name, value) => window.model.set(name, value),
    async width(pixels) {
      document.body.style.width = `${pixels}px`;
      const fits = (canvas) => canvas.clientWidth <= canvas.parentElement.clientWidth + 1;
      const settled = () => [...root.querySelectorAll("canvas")].every(fits);
      for (let turn = 0; turn < 4 || (turn < 600 && !settled()); turn += 1) {
        await new Promise(window.nextFrame); // a busy browser tells of a new size a little later
      }
    },
    nothing() {},
  };
  window.play = async (script, traits, full) => {
    const seen = [];
    for (const [kind, ...given] of script) {
      await acts[kind](...given);
      for (let turn = 0; turn < 24; turn += 1) await null;
      const problem = root.querySelector(".mha-problem");
      seen.push({
        act: [kind, ...given], sentence: root.querySelector(".mha-finding").textContent,
        problem: problem.hidden ? "" : problem.textContent,
        state: Object.fromEntries(traits.map((name) => [name, window.model.get(name)])),
        values: controls().map((node) => (node.type === "checkbox" || node.type === "radio"
          ? node.checked : node.value)),
        outputs: [...root.querySelectorAll("output")].map((node) => node.textContent),
        taken: taken(),
        hints: [...root.querySelectorAll(".mha-hint")].map((node) => node.textContent),
        digest: window.digest?.(traits),
        ...(full ? { pictures: pictures(), ink: getComputedStyle(root).color,
          chosen: marked("mha-chosen"),
          forbidden: forbidden(),
          tables: [...root.querySelectorAll("table")].filter(shown).map(texts) } : {}),
      });
    }
    return seen;
  };
}"""


def stage(page, view, recorder: str = RECORDER) -> list[dict]:
    """Show a view to the recorder; the list of its controls."""
    page.emulate_media(reduced_motion="reduce")
    host(page, view, before=recorder, css=f":root {{ --jp-ui-font-color1: {INK}; }}")
    page.evaluate(PLAYER)
    page.evaluate("() => new Promise((r) => queueMicrotask(r))")
    return page.evaluate("() => window.inventory()")


def play(page, view, script: list, full: bool = True) -> list[dict]:
    """Do what `script` says and give back what the view shows after each act."""
    kinds = bool | int | float | str | list
    names = [
        n
        for n in view.trait_names(sync=True)
        if n in MAY_BE_NONE or (not n.startswith("_") and isinstance(getattr(view, n), kinds))
    ]
    return page.evaluate("([acts, names, full]) => play(acts, names, full)", [script, names, full])


def follow(view, seen: dict):
    """Bring the view in Python to the state that the page is in."""
    with view.hold_trait_notifications():
        for name, value in seen["state"].items():
            if getattr(view, name) != value:
                setattr(view, name, value)
    return view


def sweep(controls: list[dict], few: bool = False) -> list[list]:
    """Every position of every control, and a step beyond both ends of a slider.

    With `few`: the first, the last and one in the middle.
    """
    script = []
    for control in controls:
        every = positions(control)
        if few:
            every = every[:1] if control["kind"] in ("button", "radio") else every
            every = [every[0], every[-2], every[len(every) // 2]] if len(every) > 3 else every
        script += [["move", control["place"], value] for value in every]
    return script


def positions(control: dict) -> list:
    if control["kind"] == "range":
        low, high, step = control["min"], control["max"], control["step"]
        count = round((high - low) / step)
        return [low + n * step for n in (*range(-1, count + 2), count // 2)]
    if control["kind"] == "select-one":
        return control["options"]
    return [] if control["kind"] == "text" else [None, None]
