"""Making data sets: schemas and names of indexes. The modules have the names that they have in Petastorm."""
