"""Downloads the programs that the instances came from into the user's cache: bug-fix commits by git, questions by the
API.

They belong to their authors, so none is part of dnnfix's repository.
"""
