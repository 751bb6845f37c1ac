"""Which models the run trains and which stand beside it."""
