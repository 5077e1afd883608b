"""Adapters, one kernel library each."""
