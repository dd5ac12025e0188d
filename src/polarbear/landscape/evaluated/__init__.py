"""Sets of features that evaluate the function further."""
