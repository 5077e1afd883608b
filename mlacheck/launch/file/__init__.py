"""Launch commands in the files that people commit: scripts, manifests, images, configuration."""
