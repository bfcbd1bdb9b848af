"""The paper's tables and figures measured again: `python -m reproduction NAME`, from a checkout."""
