"""The programs that the instances came from, brought to the user's own cache: bug-fix commits by git, questions by the API.

They belong to their authors, so none is part of dnnfix's repository.
"""
