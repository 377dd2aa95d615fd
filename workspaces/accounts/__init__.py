"""Signing in to the admin, and what protects accounts."""
