"""`python -m mare`: the command line, where no script is on the path."""

from mare.cli import main

if __name__ == "__main__":
    main()
