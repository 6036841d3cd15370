// What self-attention and a recurrence cost: softlookup.attention.cost, with all widths d.

/** Multiplications, exponentials, and bytes in float32, for n tokens of width d. */
export function costs(n, d) {
  return {
    projections: 4 * n * d * d,
    core: 2 * n * n * d,
    softmax: n * n,
    recurrent: 2 * n * d * d,
    weights: 4 * n * n,
    states: 4 * n * d,
  };
}

/** 1536 as "1,536"; from a million on three digits and a word. */
export function counted(count) {
  const units = [
    [1e12, "trillion"],
    [1e9, "billion"],
    [1e6, "million"],
  ];
  const [unit, word] = units.find(([size]) => count >= size) ?? [1, ""];
  if (unit === 1) return count.toLocaleString("en-US");
  return `${Number((count / unit).toPrecision(3))} ${word}`;
}

/** 4096 bytes as "4 KiB". */
export function bytes(count) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  const k = count ? Math.floor(Math.log2(count) / 10) : 0;
  return `${Number((count / 1024 ** k).toPrecision(3))} ${units[k]}`;
}
