// Evaluates an expression over a module of a live view; view_units.py starts it with deno.
const { module, expression, given, state, sent } = JSON.parse(
  await new Response(Deno.stdin.readable).text(),
);
for (const [name, text] of Object.entries(sent)) {
  const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  const shifted = new Uint8Array(bytes.length + 1); // unaligned, as from a kernel
  shifted.set(bytes, 1);
  state[name] = new DataView(shifted.buffer, 1);
}
const model = { get: (name) => state[name], set: (name, value) => (state[name] = value) };
const made = (0, eval)(expression)(await import(module), given, model);
console.log(written(made));

/** As JSON, but with NaN and Infinity, which Python reads. */
function written(value) {
  if (typeof value === "number") return String(value);
  if (ArrayBuffer.isView(value)) return `[${Array.from(value, written).join()}]`;
  if (Array.isArray(value)) return `[${value.map(written).join()}]`;
  if (value === null || typeof value !== "object") return JSON.stringify(value) ?? "null";
  const pairs = Object.entries(value).map(([name, part]) =>
    `${JSON.stringify(name)}:${written(part)}`
  );
  return `{${pairs.join()}}`;
}
