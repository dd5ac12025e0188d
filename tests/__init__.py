"""Tests; a package so that worker processes can import the entrants of races."""
