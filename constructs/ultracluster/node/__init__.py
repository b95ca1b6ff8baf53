"""Programs that run on the instances: standard library only, Python 3.9 or later, importing nothing else of ours."""
