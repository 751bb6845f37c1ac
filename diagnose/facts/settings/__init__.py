"""Settings by key, by answer and by default."""
