"""Samples into batches on the device."""
