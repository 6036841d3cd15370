// What is trained: numbers, and the gradient that the way back adds up beside them.

export class Parameter {
  /** Zeros of a shape; `products` says which kind of numbers, and computes with them. */
  constructor(shape, products) {
    const n = shape.reduce((size, axis) => size * axis, 1);
    this.shape = shape;
    this.products = products;
    this.data = products.weights(n);
    this.grad = products.weights(n);
  }
}
