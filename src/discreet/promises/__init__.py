"""From a promise to noise: the least noise, the best law, and limits on risk."""
