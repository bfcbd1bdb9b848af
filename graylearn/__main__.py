"""`python -m graylearn`: the command line."""

from graylearn.cli import main

if __name__ == "__main__":
    main()
