"""The models: what is believed about ratings over time before any ranking."""
