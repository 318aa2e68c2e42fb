// Makes elements of the page: captions, hints, panels, columns, controls and table rows.

/**
 * An element of the page.
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {Record<string, string | number>} attributes
 * @param {...(Node | string)} children
 * @returns {HTMLElementTagNameMap[Tag]}
 */
export function element(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, String(value));
  node.append(...children);
  return node;
}

let ids = 0;

/** A name that no other element of the page has, also beside other notebooks. */
export function uniqueId() {
  return `mha-${(ids += 1)}-${Math.random().toString(36).slice(2, 8)}`;
}

/**
 * Write to a node only what has changed, so that nothing is laid out again.
 * @param {Node} node
 * @param {string | number} text
 */
export function write(node, text) {
  if (node.textContent !== String(text)) node.textContent = String(text);
}

/** The line above a picture or a table. @param {string} text */
export function caption(text = "") {
  return element("p", { class: "mha-caption" }, text);
}

/** The line below it. @param {string} text */
export function hint(text = "") {
  return element("p", { class: "mha-hint" }, text);
}

/**
 * The colours between two numbers: of shares, or of numbers with a sign.
 * @param {string} low
 * @param {string} high
 * @param {"weights" | "signed"} name
 */
export function scale(low = "0", high = "1", name = "weights") {
  const ramp = element("span", { class: "mha-ramp", style: `background: var(--mha-${name})` });
  return element("p", { class: "mha-scale" }, low, ramp, high);
}

/** What belongs together in one column. @param {...(Node | string)} nodes */
export function panel(...nodes) {
  return element("div", {}, ...nodes);
}

/** Columns beside each other where there is room. @param {...Node} nodes */
export function columns(...nodes) {
  return element("div", { class: "mha-halves" }, ...nodes);
}

/** A line of controls. @param {...Node} nodes */
export function controls(...nodes) {
  return element("div", { class: "mha-controls" }, ...nodes);
}

/**
 * A row of a table: its name and its cells, all of them headers in the first row.
 * @param {(string | Node)[]} cells
 * @param {boolean} isFirst
 */
export function tableRow([name, ...cells], isFirst = false) {
  const scope = isFirst ? "col" : "row";
  const tag = isFirst ? "th" : "td";
  const rest = cells.map((cell) => element(tag, isFirst ? { scope } : {}, cell));
  return element("tr", {}, element("th", { scope }, name), ...rest);
}
