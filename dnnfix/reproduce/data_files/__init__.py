"""Files and folders that a program reads and nobody has: what each must hold, and the step that makes it."""
