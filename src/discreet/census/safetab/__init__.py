"""SafeTab-P: detailed groups by geography, sex and age, tabulated adaptively under zCDP or pure privacy."""
