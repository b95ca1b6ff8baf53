"""Programs that run on the instances: standard library only, Python 3.9 or later, importing nothing else of ours."""


class NodeError(Exception):
    """What a program cannot go on with: one line, `what is wrong; what would be right`."""
