"""The rule language: reading, checking, compiling and running rules."""
