"""Shell text, read by tree-sitter's bash grammar and followed without running anything."""
