// Package filelock locks open files against other processes: on Unix by flock, on Windows by
// LockFileEx. A lock ends when its file is closed, and therefore when its process is killed, so no
// lock is ever stale. Start with [Try].
package filelock

import (
	"errors"
	"os"
	"time"
)

// ErrBusy reports that another open file, in this process or another, holds the lock.
var ErrBusy = errors.New("locked by another process")

// pollInterval is the pause between two attempts at a lock.
const pollInterval = 5 * time.Millisecond

// Try locks f, either exclusively or shared. While another open file holds a conflicting lock, Try
// retries until patience has passed and then returns [ErrBusy]; with a patience of 0 it tries once.
// Any other error means that the file system or the operating system has no locks.
//
// On Linux a lock also works over NFS, whose server holds it; a file system mounted
// without distributed locks (Lustre's "localflock") limits it to one machine.
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

// Unlock releases the lock while f stays open. Closing f also releases it, but only
// after a child process that is being started has closed its copy of f.
func Unlock(f *os.File) error { return unlock(f) }
