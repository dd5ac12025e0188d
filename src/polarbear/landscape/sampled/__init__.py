"""Sets of features that are computed from a sample alone, one file each."""
