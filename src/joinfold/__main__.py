"""``python -m joinfold``: the command line, where the command ``joinfold`` is not on the path."""

from joinfold.cli import main

if __name__ == "__main__":
    main()
