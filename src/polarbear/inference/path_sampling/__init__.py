"""Joint draws of paths over time and their hyperparameters: nested Laplace approximations and Markov chains."""
