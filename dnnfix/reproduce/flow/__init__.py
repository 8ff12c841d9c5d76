"""Follows data that is not there through a program: where it comes from, and what is done with it.

A small interpreter over the syntax tree (`follow.follow`). It runs every function with the values that it is called with,
knows constants and paths, and notes each use of each piece of data. It decides nothing: `input_data` and the modules beside
it read the uses. (`feeds` is another matter: what a network does with its inputs, up to the first layer.)
"""
