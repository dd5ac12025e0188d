"""The same models by independent samplers, NUTS and Pathfinder, as a check."""
