"""`python -m polarbear` is `polarbear`."""

import sys

from polarbear.cli import main

if not sys.flags.safe_path:
    del sys.path[0]  # the current folder; commands look there last
main()
