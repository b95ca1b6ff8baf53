"""Reference stacks, one per life cycle, put together by `assemble`."""
