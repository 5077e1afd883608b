"""Ways out of findings: searching for edits and writing corrected command lines."""
