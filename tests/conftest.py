"""What all tests stand on: the signals of a command that a person started at a terminal, and the backend of Keras."""

from __future__ import annotations

import os
import signal

# A shell starts background commands with SIGINT ignored, and children inherit that: the tests of Ctrl-C would then wait
# for an interruption that never comes. A handler, unlike SIG_IGN, is not inherited through exec.
signal.signal(signal.SIGINT, signal.default_int_handler)

# Of the backends only torch is sure to be installed, whatever the configuration of the user's own Keras says.
os.environ.setdefault("KERAS_BACKEND", "torch")
