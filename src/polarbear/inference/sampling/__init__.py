"""Draws at one timepoint, by importance sampling and Gibbs sampling, and diagnostics of their reliability."""
