"""Launch commands that Python code starts: lists and strings, followed through its statements."""
