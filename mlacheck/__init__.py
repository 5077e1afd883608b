"""mlacheck: launch-config compatibility validator for LLM serving."""

__version__ = "0.1.0"
