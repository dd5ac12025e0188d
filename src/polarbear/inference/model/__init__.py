"""The models: priors of the ratings over time, and the computation of their posteriors."""
