"""The same API as others would write it: over the same tables, keys and counter."""
