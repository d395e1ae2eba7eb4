"""The Tabulation design page of the workbench, a guest."""
