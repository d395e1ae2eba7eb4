"""Tables of non-negative whole numbers for a nation: top-down, family by family, by subtrees."""
