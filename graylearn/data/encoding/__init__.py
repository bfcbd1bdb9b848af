"""Tables of any columns into bounded float32 features."""
