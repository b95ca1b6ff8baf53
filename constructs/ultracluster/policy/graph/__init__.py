"""Questions that several rules ask of a template: who uses a launch template, which zone, what a group allows."""
