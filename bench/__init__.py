"""What measures the service; nothing here runs in production."""
