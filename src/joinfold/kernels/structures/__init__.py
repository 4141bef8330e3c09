"""Four ways to find the partners of a row in a window: list, hash, B+tree and T-tree (Kang, Naughton, Viglas 2003).

Which one is cheapest depends on how often a window is probed and how often it moves::

              probe                    insert, expire     serves
    list      all members              O(1)               every join
    hash      the members of a bucket  O(1)               joins with an equality
    btree     O(log n + matches)       O(log n)           every join
    ttree     O(log n + matches)       O(log n)           every join

A structure is a subclass of ``Members`` in a file of its own, and an entry of the table below.
"""

from joinfold.kernels.structures.btree import BTree
from joinfold.kernels.structures.hashed import Hashed
from joinfold.kernels.structures.listed import Listed
from joinfold.kernels.structures.operations import Structure
from joinfold.kernels.structures.ttree import TTree

STRUCTURES: dict[str, type[Structure]] = {"list": Listed, "hash": Hashed, "btree": BTree, "ttree": TTree}
