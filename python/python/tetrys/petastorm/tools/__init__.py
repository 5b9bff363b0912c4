"""Programs for data sets. The modules have the names that they have in Petastorm."""
