"""A synthetic nation with households: the same people in the files of every product of the 2020 Census.

`households` draws who lives together, on the blocks and with the races of `safetab.synthetic`; `columns` says
how the products' files write them; `synthesis` writes the files.
"""
