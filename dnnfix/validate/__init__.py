"""The ladder that a candidate has to climb before it is called a patch."""
