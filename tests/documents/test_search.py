"""GET /api/v1/search against a model of it in Python."""
