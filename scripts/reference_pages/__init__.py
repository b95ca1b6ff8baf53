"""Pages of `docs/reference/`, one module per page; each gives the whole text of its page."""
