"""Renderers of a report, one file per format."""
