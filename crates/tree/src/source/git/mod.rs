//! Data that git stores next to a working tree, read without running git.
