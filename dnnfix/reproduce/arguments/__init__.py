"""What a program is called with, and what it does by it."""
