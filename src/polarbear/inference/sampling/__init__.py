"""Draws at one timepoint: importance sampling and Gibbs sampling, and how far draws can be trusted."""
