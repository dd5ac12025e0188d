"""The same models by other people's samplers, NUTS and Pathfinder, for anyone who doubts."""
