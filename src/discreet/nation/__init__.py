"""A synthetic nation with households, a guest: the same people in the files of every 2020 Census product.

`households` draws who lives together, on the blocks and with the races of `safetab.synthetic`; `columns` says
how the products' files write them; `synthesis` writes the files.
"""
