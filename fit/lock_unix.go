//go:build unix

package fit

import (
	"os"

	"golang.org/x/sys/unix"
)

// lockFile takes an exclusive lock that lasts until f is closed, and reports
// false if another process has it. Where the file system has no locks there is
// none.
func lockFile(f *os.File) bool {
	return unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) != unix.EWOULDBLOCK
}
