"""Which lines failing and passing tests execute, and how suspect that makes them."""
