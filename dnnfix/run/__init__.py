"""Runs programs in the sandbox: jobs and their budgets, warm interpreters, and the traces that come back."""
