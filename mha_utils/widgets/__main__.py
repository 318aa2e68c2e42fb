"""Write one live view as a page: `python -m mha_utils.widgets HeadExplorer view.html`."""

import argparse

from mha_utils.widgets.examples import EXAMPLES
from mha_utils.widgets.kit.page import save_page

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("view", choices=EXAMPLES)
    parser.add_argument("path", help="the .html file to write")
    arguments = parser.parse_args()
    try:
        print(save_page(EXAMPLES[arguments.view](), arguments.path))
    except ValueError as error:
        parser.error(str(error))
