"""The stages behind PACK, one bucket at a time, and MERGE, which turns what they emit into answers."""
