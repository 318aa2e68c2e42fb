// In the page of a view: replaces what depends on fonts, and sums up what the view shows.
() => {
  CanvasRenderingContext2D.prototype.measureText = (text) => ({ width: 7 * String(text).length });
  const area = (node, n) => Number(node.style.gridArea.split("/")[n]) || 0;
  const laidOut = {
    offsetLeft: (node) => 120 * area(node, 1),
    offsetTop: (node) => 60 * area(node, 0),
    offsetWidth: () => 100,
    offsetHeight: () => 40,
    clientHeight: () => 480,
  };
  for (const [name, of] of Object.entries(laidOut)) {
    Object.defineProperty(HTMLElement.prototype, name, { get() { return of(this); } });
  }
  const pattern = CanvasRenderingContext2D.prototype.createPattern;
  CanvasRenderingContext2D.prototype.createPattern = function (tile, ...how) {
    window.hatch = window.notesOf(tile);
    return pattern.call(this, tile, ...how);
  };

  /** A few letters that change with any letter of a text. */
  const short = (text) => {
    let sum = 2166136261;
    for (const letter of text) sum = Math.imul(sum ^ letter.codePointAt(0), 16777619);
    return (sum >>> 0).toString(36);
  };
  const rounded = (_, value) => (typeof value === "number" ? Number(value.toFixed(2)) : value);
  const numbered = (html) => {
    const ids = [];
    return html.replace(/mha-\d+-[a-z0-9]*/g, (id) => {
      if (!ids.includes(id)) ids.push(id);
      return `id-${ids.indexOf(id)}`;
    });
  };
  const keptHeight = /(<p class="mha-finding"[^>]*) style="min-height: \d+px;"/;
  const valueOf = (node) => (
    node.type === "checkbox" || node.type === "radio" ? node.checked : node.value);

  window.digest = (traits) => {
    const root = document.querySelector(".mha-view");
    const all = [...root.querySelectorAll("*")];
    const page = {
      html: numbered(root.outerHTML.replace(keptHeight, "$1")),
      values: [...root.querySelectorAll("input, select")].map(valueOf),
      focus: all.indexOf(document.activeElement),
      hatch: window.hatch,
      traits: traits.map((name) => window.model.get(name)),
    };
    const pictures = [...root.querySelectorAll("canvas")].map(window.notesOf);
    return [page, ...pictures].map((part) => short(JSON.stringify(part, rounded)));
  };
}
