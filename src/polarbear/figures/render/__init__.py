"""Figures drawn by plotting libraries, one module each."""
