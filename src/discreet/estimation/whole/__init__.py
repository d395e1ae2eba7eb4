"""Tables of non-negative whole numbers, consistent over queries, levels and what is held exact."""
