"""What is told of the exception that ended a program: a fault of its own or not, values, and what a library would have taken."""
