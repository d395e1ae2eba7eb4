"""What the results of the Bureau's programs tell."""
