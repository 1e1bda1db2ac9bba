// Package filelock locks open files against other processes, on Unix by flock, on
// Windows by LockFileEx. A lock ends when its file is closed, so also when its
// process is killed: no lock is ever stale. Start at [Try].
package filelock

import (
	"errors"
	"os"
	"time"
)

// ErrBusy says that another open file holds the lock, in this process or another.
var ErrBusy = errors.New("locked by another process")

// pollInterval is the pause between two attempts at a lock.
const pollInterval = 5 * time.Millisecond

// Try locks f, against everyone else if exclusive is set, else only against those
// who want it exclusively. While the lock is another's, Try tries again for as
// long as patience, then returns [ErrBusy]; with a patience of 0 it tries once.
// Another error says that the file system or the operating system has no locks.
//
// On Linux a lock reaches over NFS, whose server keeps it; a file system mounted
// without locks (Lustre's "localflock") keeps it within one machine.
func Try(f *os.File, exclusive bool, patience time.Duration) error {
	end := time.Now().Add(patience)
	busy, err := tryOnce(f, exclusive)
	for busy && time.Now().Before(end) {
		time.Sleep(pollInterval)
		busy, err = tryOnce(f, exclusive)
	}
	switch {
	case busy:
		return ErrBusy
	case err != nil:
		return &os.PathError{Op: "lock", Path: f.Name(), Err: err}
	}
	return nil
}

// Unlock gives the lock back while f stays open. Closing f does it too, but not
// before a child process that is being started has let go of its copy of f.
func Unlock(f *os.File) error { return unlock(f) }
