"""The law of the privacy loss of a list of events, and how its curves are computed and proved."""
