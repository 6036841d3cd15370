"""The exercises' checks, a module per chapter."""
