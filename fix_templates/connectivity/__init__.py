"""Fix templates of the family connectivity: how the parts of a network are connected, to each other and to the loss."""
