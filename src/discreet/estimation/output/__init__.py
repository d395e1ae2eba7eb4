"""What comes out of estimates: tables to read and to print, draws, microdata."""
