"""The forges (GitHub, a local folder) on which the bot opens pull requests, behind one protocol."""
