// An assembly file allows functions without a body, which go:linkname requires.
