"""From a bug report to the places in a repository that it is about, and to whose fault it is."""
