//! No code: the manifest names the features of dependencies that any test build takes.
