"""Studies of the paper on SafeTab-P, a guest: their list, the printed values and the functions."""
