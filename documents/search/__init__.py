"""GET /api/v1/search: the documents of the key's workspace that match all parameters."""
