package rundir

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"gpfit/internal/filelock"
)

// InUseError reports a run directory that another process works in. The command
// line maps it to exit code 11.
type InUseError struct {
	Dir string
	// By says who, as far as known.
	By string
}

func (e *InUseError) Error() string {
	return fmt.Sprintf("run directory %s is in use by %s", e.Dir, e.By)
}

// Mode says who may work in a run directory beside the holder of a lock.
type Mode int

const (
	// Exclusive is for a process that does the whole run.
	Exclusive Mode = iota
	// Shared is for processes that share it: shards and workers.
	Shared
)

// Lock keeps others out of a run directory. It ends with the process, however
// that ends, so there are no stale locks.
type Lock struct{ file *os.File }

type holder struct {
	Host  string    `json:"host"`
	PID   int       `json:"pid"`
	Since time.Time `json:"since"`
}

// acquire locks dir, which is made if create is set. It tries for a moment,
// since one who creates the run, or asks who holds it, is soon done.
func acquire(dir string, mode Mode, create bool) (*Lock, error) {
	if create {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return nil, err
		}
	}
	path := filepath.Join(dir, "lock")
	flags := os.O_RDWR
	if create {
		flags |= os.O_CREATE
	}
	f, err := os.OpenFile(path, flags, 0o644)
	if err != nil {
		return nil, err
	}
	err = filelock.Try(f, mode == Exclusive, 200*time.Millisecond)
	if errors.Is(err, filelock.ErrBusy) {
		err = &InUseError{Dir: dir, By: whoHolds(path)}
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	l := &Lock{f}
	if mode == Exclusive {
		l.sign()
	} else {
		_ = f.Truncate(0) // the name of an earlier, exclusive holder
	}
	return l, nil
}

// sign writes who holds the lock, for the messages of others.
func (l *Lock) sign() {
	host, _ := os.Hostname()
	if text, err := json.Marshal(holder{host, os.Getpid(), time.Now().UTC().Truncate(time.Second)}); err == nil {
		_ = l.file.Truncate(0)
		_, _ = l.file.WriteAt(append(text, '\n'), 0)
	}
}

func whoHolds(path string) string {
	var h holder
	text, err := os.ReadFile(path)
	if err != nil || json.Unmarshal(text, &h) != nil {
		return "shards or workers of the same run"
	}
	return fmt.Sprintf("process %d on %s, since %s", h.PID, h.Host, h.Since.Local().Format(time.DateTime))
}

// Release gives the lock back.
func (l *Lock) Release() { l.file.Close() }
