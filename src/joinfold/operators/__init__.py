"""The engine that moves answers from instant to instant: arrays in, arrays out, no Spark here."""
