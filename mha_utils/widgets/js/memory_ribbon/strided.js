// Does what torch does with a tensor's shape, strides and storage.

/**
 * A tensor as torch keeps it.
 * @typedef {{ shape: number[], strides: number[], storage: number[] }} Tensor
 */

/** The strides of numbers that lie as they are read. @param {number[]} shape */
export function rowMajor(shape) {
  return shape.map((_, d) => shape.slice(d + 1).reduce((a, b) => a * b, 1));
}

/** @param {Tensor} tensor */
export function isContiguous({ shape, strides }) {
  return rowMajor(shape).every((stride, d) => shape[d] === 1 || strides[d] === stride);
}

/**
 * The same storage, read with another shape.
 * @param {Tensor} tensor
 * @param {number[]} shape
 * @returns {Tensor}
 */
export function view(tensor, shape) {
  const strides = viewStrides(tensor, shape);
  if (!strides) throw new RangeError(`no view of (${tensor.shape}) is (${shape})`);
  return { shape, strides, storage: tensor.storage };
}

/**
 * @param {Tensor} tensor
 * @param {number[]} shape
 */
export function reshape(tensor, shape) {
  return view(viewStrides(tensor, shape) ? tensor : contiguous(tensor), shape);
}

/**
 * The strides that read the storage with another shape, or null.
 * @param {Tensor} tensor
 * @param {number[]} shape
 */
function viewStrides(tensor, shape) {
  /** @type {number[]} */
  const strides = [];
  const left = [...shape];
  for (const [size, stride] of piecesOf(tensor).reverse()) {
    let taken = 1;
    while (left.length && (taken < size || left.at(-1) === 1)) {
      strides.unshift(taken * stride);
      taken *= left.pop() ?? 1;
    }
    if (taken !== size) return null;
  }
  return strides;
}

/** Neighbouring dimensions that lie in memory as one, as [size, stride]. @param {Tensor} tensor */
function piecesOf({ shape, strides }) {
  /** @type {[number, number][]} */
  const pieces = [];
  shape.forEach((size, d) => {
    const last = pieces.at(-1);
    if (size === 1) return;
    if (last?.[1] === size * strides[d]) pieces.splice(-1, 1, [last[0] * size, strides[d]]);
    else pieces.push([size, strides[d]]);
  });
  return pieces.length ? pieces : [[1, 1]];
}

/**
 * @param {Tensor} tensor
 * @param {number} a
 * @param {number} b
 * @returns {Tensor}
 */
export function transpose({ shape, strides, storage }, a, b) {
  /** @param {number[]} list */
  const swap = (list) => list.map((_, d) => list[d === a ? b : d === b ? a : d]);
  return { shape: swap(shape), strides: swap(strides), storage };
}

/** @param {Tensor} tensor */
export function contiguous(tensor) {
  return isContiguous(tensor) ? tensor : packed(valuesOf(tensor), tensor.shape);
}

/**
 * @param {number[]} storage
 * @param {number[]} shape
 * @returns {Tensor}
 */
export function packed(storage, shape) {
  return { shape, strides: rowMajor(shape), storage };
}

/**
 * The index of the element that comes `n`th when the last dimension runs fastest.
 * @param {number} n
 * @param {number[]} shape
 */
export function indexOf(n, shape, strides = rowMajor(shape)) {
  return shape.map((size, d) => Math.floor(n / strides[d]) % size);
}

/**
 * @param {number[]} index
 * @param {number[]} strides
 */
export function placeOf(index, strides) {
  return index.reduce((sum, i, d) => sum + i * strides[d], 0);
}

/** The numbers in the order in which they are read. @param {Tensor} tensor */
export function valuesOf({ shape, strides, storage }) {
  const steps = rowMajor(shape);
  return storage.map((_, n) => storage[placeOf(indexOf(n, shape, steps), strides)]);
}
