"""``python -m tilec``: the same as the script ``tilec``."""

import sys

from tilec.cli import main

sys.exit(main())
