"""Writers of reports: the only code that puts a report into words."""
