"""The configuration file: what is checked for, said once for a repository."""

from mlacheck.config.settings import ConfigError, Profile, Settings
from mlacheck.config.source import find_config, read_config

__all__ = ["ConfigError", "Profile", "Settings", "find_config", "read_config"]
