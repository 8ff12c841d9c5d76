"""Rules of dnnfix for programs of TensorFlow 1, Keras 1 and Python 2: a plug-in, found by its entry point."""
