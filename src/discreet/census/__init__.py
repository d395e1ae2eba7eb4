"""The Census Bureau's programs and files, a guest: the commands `discreet safetab`."""
