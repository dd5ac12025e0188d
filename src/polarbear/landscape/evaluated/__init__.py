"""Sets of features that require further evaluations of the function."""
