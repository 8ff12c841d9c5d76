"""Rules about the sizes of layers and tensors."""
