"""One thing that goes wrong."""

import collections

# What runs out or fails, such as `openat` or `space`; and where, or how much there is.
Fault = collections.namedtuple("Fault", "kind detail")
