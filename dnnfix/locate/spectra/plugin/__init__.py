"""A plugin of pytest that runs in the user's interpreter: the folder is put on its path."""
