"""The callback that watches trainings of Keras 3: `model.fit(..., callbacks=[dnnfix.keras.WatchCallback()])`."""

from dnnfix.watching.keras import WatchCallback

__all__ = ["WatchCallback"]
