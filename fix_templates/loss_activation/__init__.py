"""Rules about loss functions, activations and metrics."""
