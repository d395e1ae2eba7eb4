"""Reports of tabulations: for the trusted curator, and a workbook of a design."""
