"""From a server's log to the rules behind its errors, by the engine's own words."""
