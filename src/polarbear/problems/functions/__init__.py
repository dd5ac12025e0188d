"""The functions of which suites consist, and the library `ioh`."""
