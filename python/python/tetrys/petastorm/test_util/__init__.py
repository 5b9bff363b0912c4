"""Readers for tests of code that takes readers."""
