"""The command `python -m mha_utils.check path.to:Class`: hands over to `mha_utils.checks`."""

import sys

from mha_utils.checks.__main__ import main

if __name__ == "__main__":
    sys.exit(main())
