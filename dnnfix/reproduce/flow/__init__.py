"""A data-flow analysis for data that is missing: where it enters a program, and every use that is made of it.

A small interpreter over the syntax tree (`follow.follow`). It runs every function with the values that it is called
with, knows constants and paths, and notes each use of each piece of data. It decides nothing: `input_data` and the
modules beside it read the uses. (`input_operations` is another matter: what a network does with its inputs, up to the first
layer.)

It shares no code with the interpreter that reads networks (`network.machine`), whose question is what is certain: there
both branches begin with the same names and are joined, what a loop assigns is unknown at its start, code behind a
`return` is not read, a function is a value with the scope that it was made in, and whatever may have two origins
becomes unknown. Here any use counts that may happen: both branches are run one after the other with the names that the
first one left, a loop over constants once for each of them, a `return` ends nothing, functions are found by their names
in all of the program, and of several values the one that holds data is kept. What is left in common is which field of a
statement holds what.
"""
