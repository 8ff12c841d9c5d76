"""The edit actions, one module each: what is done to make a program run, and after what."""
