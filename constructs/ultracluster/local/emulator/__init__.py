"""What runs inside the server process: MiniStack, and the module that teaches it what it lacks."""
