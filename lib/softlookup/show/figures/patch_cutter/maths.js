// Cutting an image into patches: the arithmetic of softlookup.tokenization.patches.
// An image is a list of channels, a channel a list of rows of numbers.

/** The patch sides that cut both lengths without a rest, from 1 up. */
export function sidesFor(height, width) {
  const sides = [];
  for (let size = 1; size <= Math.min(height, width); size += 1) {
    if (height % size === 0 && width % size === 0) sides.push(size);
  }
  return sides;
}

/** Where patch i stands in the grid of patches: row and column, from 0. */
export const placeOf = (i, columns) => [Math.floor(i / columns), i % columns];

/** One row of numbers a patch, in reading order: all of the first channel, then the next. */
export function patchify(image, size) {
  const [height, width] = [image[0].length, image[0][0].length];
  const columns = width / size;
  const rows = [];
  for (let i = 0; i < (height / size) * columns; i += 1) {
    const [row, column] = placeOf(i, columns);
    const left = column * size;
    rows.push(
      image.flatMap((channel) =>
        channel
          .slice(row * size, (row + 1) * size)
          .flatMap((line) => line.slice(left, left + size)),
      ),
    );
  }
  return rows;
}
