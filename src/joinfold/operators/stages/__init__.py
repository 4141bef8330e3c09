"""The stages behind PACK, one bucket at a time, and what makes answers of what they emit."""
