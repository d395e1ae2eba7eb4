"""Other people's tools: what they hold is read into ours, and what we hold is handed to them.

One module for each: `dp_accounting`, `opendp`, `riskcal`, `tumult`, and the `registry` of deployments. The
packages are imported where they are used, so that none of them need be installed.
"""
