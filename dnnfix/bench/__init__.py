"""The benchmark of 667 (bug, repair) instances: its index, its cases, the proofs of the cases, and the replay."""
