"""A command that could not do its work."""


class CommandFailed(Exception):
    """Its message is shown as it is; the exit status is 1."""
