//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package filelock

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// tryOnce tries to lock f and reports whether another open file holds the lock.
func tryOnce(f *os.File, exclusive bool) (busy bool, err error) {
	how := unix.LOCK_SH
	if exclusive {
		how = unix.LOCK_EX
	}
	err = unix.EINTR
	for errors.Is(err, unix.EINTR) {
		err = unix.Flock(int(f.Fd()), how|unix.LOCK_NB)
	}
	return errors.Is(err, unix.EWOULDBLOCK), err
}

func unlock(f *os.File) error { return unix.Flock(int(f.Fd()), unix.LOCK_UN) }
