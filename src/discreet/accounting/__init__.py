"""What a release costs: exact (epsilon, delta) and trade-off curves, certified on request."""
