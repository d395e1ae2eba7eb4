"""What estimates are made from: noisy tables, the Bureau's files, known counts, sampling errors."""
