"""`dnnfix mcp`: the Model Context Protocol over `check`, `suggest`, `reproduce`, `explain` and `verify`, for coding agents (the extra `dnnfix[mcp]`).

`app` answers the messages, `tools` says what each tool is, `clients` asks where a client works. What reads or runs a program
(`work`) does so in a process of its own, and none of it knows of the protocol: it makes the small `answers` that agents read.
"""
