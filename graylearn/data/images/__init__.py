"""Image files into uint8 arrays, decoded once."""
