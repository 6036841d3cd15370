// A table with a row for each token, or for each position.

import { require } from "./require.js";

/** The rows of a table at some indices. */
export function embedding(indices, table) {
  const [size, d] = table.shape;
  const rows = new table.products.kind(indices.length * d);
  indices.forEach((index, i) => {
    const known = Number.isInteger(index) && index >= 0 && index < size;
    require(known, `an id must be an integer from 0 to ${size - 1}`, { id: index });
    rows.set(table.data.subarray(index * d, (index + 1) * d), i * d);
  });

  // A row collects the gradients of all places where it was read; an index has none.
  const backward = (dRows) => {
    indices.forEach((index, i) => {
      for (let c = 0; c < d; c += 1) table.grad[index * d + c] += dRows[i * d + c];
    });
  };
  return [rows, backward];
}
