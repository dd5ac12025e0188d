"""Gaussian paths over time: kernels, state-space models, Cholesky factors."""
