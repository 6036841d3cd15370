// Arithmetic with matrices that several figures need. A matrix is a list of rows.

import { dot, softmax } from "./maths.js";

/** The transposed matrix. */
export const transpose = (matrix) => matrix[0].map((_, j) => matrix.map((row) => row[j]));

/** The matrix times a vector. */
export const times = (matrix, vector) => matrix.map((row) => dot(row, vector));

/** The matrix product of A and B. */
export function multiply(A, B) {
  const columns = transpose(B);
  return A.map((row) => columns.map((column) => dot(row, column)));
}

/** softmax(QKᵀ/√d_k) along each row; causal: row i reads the rows 0 to i, and no other. */
export function attentionWeights(Q, K, causal) {
  return Q.map((q, i) => {
    const read = causal ? K.slice(0, i + 1) : K;
    const weights = softmax(read.map((k) => dot(q, k) / Math.sqrt(q.length)));
    return K.map((_, j) => weights[j] ?? 0);
  });
}
