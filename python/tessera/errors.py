"""What a user is told: one line, and exit status 1."""


class ImportFailure(Exception):
    """A graph that cannot be imported, and why, in one line."""
