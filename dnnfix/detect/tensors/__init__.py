"""What is known of the tensors in a program: their axes, sizes, types and values, and where these come from."""
