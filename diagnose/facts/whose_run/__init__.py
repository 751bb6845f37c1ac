"""Whose run words and settings tell of: today's that failed, an earlier one, somebody else's."""
