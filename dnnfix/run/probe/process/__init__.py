"""The processes that trials run in: the warm one, the supervisor of each trial, and what a trial may use."""
