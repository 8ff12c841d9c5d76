"""What the data of a program must look like that nobody has: shapes, tables, batches, from how they are used."""
