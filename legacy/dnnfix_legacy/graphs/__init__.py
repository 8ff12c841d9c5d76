"""Programs of TensorFlow 1, which build a graph and run it in sessions."""
