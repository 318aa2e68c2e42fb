// Sets the traits that a view shares with Python, and unpacks the bytes that Python sends.

/**
 * What anywidget gives a view: the traits that it shares with Python.
 * @typedef {object} Model
 * @property {(name: string) => any} get
 * @property {(name: string, value: any) => void} set
 * @property {(event: string, call: () => void) => void} on
 * @property {(event: string, call: () => void) => void} off
 * @property {() => void} save_changes
 * @property {(order: object) => void} [send] a message to Python; missing where there is no kernel
 */

const FRAME = 16; // milliseconds

/** @type {WeakSet<Model>} */
const unsaved = new WeakSet();

/**
 * Set one trait: the view answers now. Python hears of it in the next frame, if it is not busy with
 * the change before: ipywidgets then waits and sends the last one.
 * @param {Model} model
 * @param {string} name
 * @param {any} value
 */
export function setTrait(model, name, value) {
  if (model.get(name) === value) return;
  model.set(name, value);
  if (unsaved.has(model)) return;
  unsaved.add(model);
  setTimeout(() => {
    unsaved.delete(model);
    model.save_changes();
  }, FRAME);
}

/**
 * A number that Python or a reader may have set too large or too small.
 * @param {Model} model
 * @param {string} name
 * @param {number} most
 * @returns {number}
 */
export function traitUpTo(model, name, most) {
  return Math.max(Math.min(model.get(name), most), 0);
}

/**
 * Bytes from Python arrive as an unaligned DataView; copy them into floats.
 * @param {DataView<ArrayBuffer>} sent
 */
export function floats(sent) {
  return new Float32Array(sent.buffer.slice(sent.byteOffset, sent.byteOffset + sent.byteLength));
}

/**
 * Numbers of 2 bytes each (float16), as Python sends them.
 * @param {DataView<ArrayBuffer>} sent
 */
export function halves(sent) {
  const end = sent.byteOffset + sent.byteLength;
  return Float32Array.from(new Uint16Array(sent.buffer.slice(sent.byteOffset, end)), (bits) => {
    const [sign, exponent, fraction] = [bits >> 15 ? -1 : 1, (bits >> 10) & 31, bits & 1023];
    if (exponent === 31) return fraction ? NaN : sign * Infinity;
    return sign * (exponent ? 2 ** (exponent - 15) * (1 + fraction / 1024) : fraction * 2 ** -24);
  });
}
