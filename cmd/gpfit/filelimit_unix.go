//go:build unix

package main

import (
	"os/signal"
	"syscall"
)

// ignoreFileLimit makes a write beyond the limit on the size of files (ulimit -f) an error
// like any other, in place of a signal that ends the process.
func ignoreFileLimit() { signal.Ignore(syscall.SIGXFSZ) }
