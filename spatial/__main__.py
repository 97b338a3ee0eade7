"""`python -m spatial`: the same as the `spatial` command."""

import sys

from spatial.cli import main

if __name__ == "__main__":
    sys.exit(main())
