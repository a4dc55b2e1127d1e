"""One thing that goes wrong, and what the ways in which things go wrong have in common."""

import collections

# The resource that runs out or the call that fails, such as `openat` or `space`; and where, or how much there is.
Fault = collections.namedtuple("Fault", "kind detail")


class BaseMode:
    """A way in which things go wrong: does nothing yet."""

    def __init__(self, campaign):
        self.campaign = campaign

    def close(self):
        pass

    def directory(self, _fault):
        """A fresh copy of the directory, in which the fault is prepared."""
        return self.campaign.copy()

    def before(self, _fault):
        """The words before the command."""
        return []

    def relieve(self, _fault):
        """Ends what `directory` has prepared."""

    def has_begun(self, outcome):
        """Whether the loader has started the program: if it has not, how it fails is the loader's affair."""
        return outcome.returncode != 127 or b"error while loading shared libraries" not in outcome.stderr

    def took_effect(self, outcome):
        """Whether the command met the fault, as far as that is known."""
        return outcome.returncode != 0
