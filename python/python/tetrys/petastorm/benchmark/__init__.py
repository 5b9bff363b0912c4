"""Measurements of readers. The modules have the names that they have in Petastorm."""
