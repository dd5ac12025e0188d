"""Sets of features of a sample alone, a file each."""
