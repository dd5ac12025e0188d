"""The functions that suites are made from, and the library `ioh`."""
