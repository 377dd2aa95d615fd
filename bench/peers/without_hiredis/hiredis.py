"""First on the path of a variant that is measured without hiredis."""

raise ImportError
