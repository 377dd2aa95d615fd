"""What clients see while a part is broken, slow or overloaded: docs/reliability.md."""
