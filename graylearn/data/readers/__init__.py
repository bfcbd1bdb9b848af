"""Files, frames, folders and arrays into Samples."""
