"""What all tests stand on: the signals of a command that a person started at a terminal."""

from __future__ import annotations

import signal

# A shell starts background commands with SIGINT ignored, and children inherit that: the tests of Ctrl-C would then wait
# for an interruption that never comes. A handler, unlike SIG_IGN, is not inherited through exec.
signal.signal(signal.SIGINT, signal.default_int_handler)
