"""The stages behind PACK, one bucket at a time."""
