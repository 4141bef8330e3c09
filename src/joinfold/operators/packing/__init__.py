"""PACK: turns rows into entries, and makes the headers that every bucket gets."""
