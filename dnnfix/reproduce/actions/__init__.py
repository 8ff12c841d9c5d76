"""The ten edit actions, one module each: what can be done to make a program run, and on which evidence."""
