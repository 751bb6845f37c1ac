"""Pages of the knowledge base."""
