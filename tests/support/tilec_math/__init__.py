"""Elementary functions: inputs, references, and the emitted code run on NumPy arrays."""
