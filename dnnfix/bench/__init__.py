"""The benchmark of 667 (bug, repair) instances: its index, its cases, their verification, and the replay."""
