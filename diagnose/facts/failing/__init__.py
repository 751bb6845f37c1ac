"""What ran out, where and when, as messages, logs and people tell it."""
