"""Loaders of the benchmark's databases: INSERT … SELECT, the same rows in every run."""
