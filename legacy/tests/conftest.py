"""What all tests of the plug-in stand on: the backend of Keras, of which only torch is sure to be installed."""

from __future__ import annotations

import os

os.environ.setdefault("KERAS_BACKEND", "torch")
