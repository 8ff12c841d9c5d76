"""The bot: analyse a repository without a token, publish what was found without running any of its code.

`analyse` runs the programs of a checkout in the sandbox and writes a report; `publish` takes the report as anybody's input, plans
with pure functions over what it and the forge say, and opens pull requests. Doing either twice changes nothing.
"""
