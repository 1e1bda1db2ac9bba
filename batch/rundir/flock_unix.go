//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package rundir

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// tryLock takes a lock on f that ends with f, also when the process is killed.
// It returns errBusy if another open file has it. On Linux it reaches over NFS,
// where the server keeps it; file systems mounted without locks (Lustre's
// "localflock") keep it within one machine.
func tryLock(f *os.File, exclusive bool) error {
	how := unix.LOCK_SH
	if exclusive {
		how = unix.LOCK_EX
	}
	for {
		err := unix.Flock(int(f.Fd()), how|unix.LOCK_NB)
		switch {
		case err == nil:
			return nil
		case errors.Is(err, unix.EINTR):
			continue
		case errors.Is(err, unix.EWOULDBLOCK):
			return errBusy
		}
		return &os.PathError{Op: "lock", Path: f.Name(), Err: err}
	}
}

func unlock(f *os.File) error { return unix.Flock(int(f.Fd()), unix.LOCK_UN) }
