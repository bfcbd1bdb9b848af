"""python -m graylearn.bench.reproduction [--check]."""

import sys

from graylearn.bench.reproduction.write import main

sys.exit(main())
