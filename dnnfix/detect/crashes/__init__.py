"""What a crash tells: the call, the values around it, and which name or argument was meant."""
