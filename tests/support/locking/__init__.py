"""An app whose migration needs the table of documents for itself; `settings` has it installed."""
