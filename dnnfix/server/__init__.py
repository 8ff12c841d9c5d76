"""`dnnfix server`: the language server protocol over `check` and `suggest`, on pygls (the extra `dnnfix[server]`).

A buffer is a program whose bytes have not reached the disk: what the command line says of a file is said of it as it is
typed. `features` lists the
messages that are answered, `app` knows the programs that are open; all but these and `client` know of no connection.
"""
