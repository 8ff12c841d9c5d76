"""Bug reports: reads them, classifies the type of bug, and checks whether a run shows the reported symptom."""
