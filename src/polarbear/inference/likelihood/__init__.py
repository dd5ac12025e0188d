"""The Plackett–Luce log-likelihood, at one timepoint and along paths over time, ties of any size included."""
