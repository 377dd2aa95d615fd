"""How downloads are served: memory, throughput, and what they leave to others."""
