//go:build unix

package main

import (
	"os/signal"
	"syscall"
)

// ignoreFileLimit lets a write beyond the file size limit (ulimit -f) fail with an error,
// instead of ending the process by a signal.
func ignoreFileLimit() { signal.Ignore(syscall.SIGXFSZ) }
