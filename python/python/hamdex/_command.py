"""The command ``hamdex``, as the package installs it."""

import signal
import sys

from ._hamdex import run_command


def main() -> None:
    """Run the command line, and exit as the command does."""
    # The command looks for no signals itself: Ctrl-C ends it, as it ends any other.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    sys.exit(run_command(sys.argv))


if __name__ == "__main__":
    main()
