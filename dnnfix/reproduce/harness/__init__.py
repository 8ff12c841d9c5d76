"""What a program defines and nobody calls, built and called by a harness."""
