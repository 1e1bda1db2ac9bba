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

// InUseError reports that another process works in a run directory. The command
// line maps it to exit code 11.
type InUseError struct {
	Dir string
	// By describes the other process, as far as known.
	By string
}

func (e *InUseError) Error() string {
	return fmt.Sprintf("run directory %s is in use by %s; 'gpfit show %[1]s' shows its state", e.Dir, e.By)
}

// Mode is the kind of a lock on a run directory.
type Mode int

const (
	// Exclusive is for a process that works on the run alone.
	Exclusive Mode = iota
	// Shared is for processes that share the run: shards and workers.
	Shared
)

// Lock keeps other processes out of a run directory. It ends with its process in any
// case, so it is never stale.
type Lock struct{ file *os.File }

type holder struct {
	Host  string    `json:"host"`
	PID   int       `json:"pid"`
	Since time.Time `json:"since"`
}

// acquire locks dir, and makes dir first if create is set. It tries for a moment,
// because a process that creates the run or reads its holder finishes soon.
func acquire(dir string, mode Mode, create bool) (*Lock, error) {
	if create {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return nil, err
		}
	}
	if err := setAsideOthers(dir); err != nil {
		return nil, err
	}
	flags := os.O_RDWR
	if create {
		flags |= os.O_CREATE
	}
	f, err := openFile(dir, filepath.Join(dir, "lock"), flags)
	if err != nil {
		return nil, err
	}
	err = filelock.Try(f, mode == Exclusive, 200*time.Millisecond)
	if errors.Is(err, filelock.ErrBusy) {
		err = &InUseError{Dir: dir, By: whoHolds(dir)}
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	l := &Lock{f}
	if mode == Exclusive {
		l.sign()
	} else {
		_ = f.Truncate(0) // removes the name of an earlier, exclusive holder
	}
	return l, nil
}

// sign writes the holder into the lock file, for the messages of other processes.
func (l *Lock) sign() {
	host, _ := os.Hostname()
	if text, err := json.Marshal(holder{host, os.Getpid(), time.Now().UTC().Truncate(time.Second)}); err == nil {
		_ = l.file.Truncate(0)
		_, _ = l.file.WriteAt(append(text, '\n'), 0)
	}
}

func whoHolds(dir string) string {
	var h holder
	text, err := readFile(dir, "lock")
	if err != nil || json.Unmarshal(text, &h) != nil {
		return "shards or workers of the same run"
	}
	return fmt.Sprintf("process %d on %s, since %s", h.PID, h.Host, h.Since.Local().Format(time.DateTime))
}

// Release releases the lock.
func (l *Lock) Release() { l.file.Close() }
