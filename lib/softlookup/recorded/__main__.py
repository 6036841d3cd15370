"""Records a result: ``make record NAME=ngram_shakespeare``, with the data in the cache."""

import argparse
import sys

from softlookup.recorded.experiment import EXPERIMENTS
from softlookup.recorded.record import record


def main() -> None:
    """Run the experiment that the command line names, and write its result."""
    parser = argparse.ArgumentParser(prog="make record", description=__doc__)
    known = ", ".join(EXPERIMENTS)
    parser.add_argument("name", nargs="?", default="", help=f"NAME=... : {known}")
    name = parser.parse_args().name
    if not name:
        sys.exit(f"Which result? make record NAME=...; there are: {known}")
    try:
        print(record(name).mark())
    except ValueError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
