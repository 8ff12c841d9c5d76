"""The bot: analyses a repository without a token, and publishes what was found without running any of its code.

`analyse` runs the programs of a checkout in the sandbox and writes a report; `publish` treats the report as untrusted
input, plans with pure functions over the report and what the forge says, and opens pull requests. Doing either twice
changes nothing.
"""
