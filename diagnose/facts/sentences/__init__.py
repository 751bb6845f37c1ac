"""Settings as people say them, without keys."""
