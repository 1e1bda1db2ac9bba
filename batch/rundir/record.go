package rundir

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"gpfit/fit"
	"gpfit/internal/filelock"
)

// The types of events.
const (
	Started     = "started"
	Done        = "done"
	Failed      = "failed"
	Retry       = "retry"
	Interrupted = "interrupted"
)

// JobEvent is a line of jobs/ID.jsonl.
type JobEvent struct {
	Type          string    `json:"type"`
	SchemaVersion int       `json:"schema_version"`
	Job           string    `json:"job"`
	Fingerprint   string    `json:"fingerprint"`
	Attempt       int       `json:"attempt"`
	Time          time.Time `json:"time"`
	Host          string    `json:"host"`
	PID           int       `json:"pid"`
	// Kind and Error are there after a failure.
	Kind  string `json:"kind,omitempty"`
	Error string `json:"error,omitempty"`
	// Report and Model are the result. Model is relative to the run directory.
	Report *fit.Report `json:"report,omitempty"`
	Model  string      `json:"model,omitempty"`
}

// Record is what happened to a job, in order.
type Record []JobEvent

// State is what a job is at.
type State string

// The states of jobs.
const (
	StatePending     State = "pending"
	StateRunning     State = "running"
	StateInterrupted State = "interrupted"
	StateDone        State = "done"
	StateFailed      State = "failed"
)

// Of leaves the events of the job with that fingerprint: those of a job of the
// same name with other options or data do not count.
func (r Record) Of(fingerprint string) Record {
	var out Record
	for _, e := range r {
		if e.Fingerprint == fingerprint {
			out = append(out, e)
		}
	}
	return out
}

// Last returns the last event, a zero one if there is none.
func (r Record) Last() JobEvent {
	if len(r) == 0 {
		return JobEvent{}
	}
	return r[len(r)-1]
}

// state is what the events say; whether one who started still runs they cannot.
func (r Record) state() State {
	switch r.Last().Type {
	case "":
		return StatePending
	case Done:
		return StateDone
	case Failed:
		return StateFailed
	}
	return StateInterrupted
}

// JobStatus is the state of a job as others see it.
type JobStatus struct {
	State
	// Record holds the events of this job.
	Record Record
}

// Status looks at a job without claiming it.
func (r *Run) Status(j PlannedJob) (JobStatus, error) {
	path := r.Path("jobs", j.ID)
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return JobStatus{State: StatePending}, nil
	}
	if err != nil {
		return JobStatus{}, err
	}
	defer f.Close()
	record, _, err := read(f)
	if err != nil {
		return JobStatus{}, &Error{Path: path, Msg: err.Error(), Err: err}
	}
	record = record.Of(j.Fingerprint)
	s := JobStatus{State: record.state(), Record: record}
	if record.Last().Type == Started || record.Last().Type == Retry {
		if err := filelock.Try(f, false, 0); errors.Is(err, filelock.ErrBusy) {
			s.State = StateRunning
		}
	}
	return s, nil
}

// read parses a record and returns the length of its whole lines.
func read(f io.Reader) (Record, int64, error) {
	text, err := io.ReadAll(f)
	if err != nil {
		return nil, 0, err
	}
	whole := bytes.LastIndexByte(text, '\n') + 1
	var out Record
	line := 0
	for text := range bytes.Lines(text[:whole]) {
		line++
		var e JobEvent
		if err := json.Unmarshal(text, &e); err != nil {
			return nil, 0, fmt.Errorf("line %d is damaged: %w", line, err)
		}
		out = append(out, e)
	}
	return out, int64(whole), nil
}

// Claim is the right to work on a job. It ends with Release, or with the
// process.
type Claim struct {
	run    *Run
	job    PlannedJob
	file   *os.File
	Record Record
}

// ErrClaimed reports a job that another process, or another part of this one,
// works on.
var ErrClaimed = errors.New("the job is claimed by another process")

// Claim takes a job. What a killed process left half-written is removed.
func (r *Run) Claim(j PlannedJob) (*Claim, error) {
	path := r.Path("jobs", j.ID)
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return nil, err
	}
	// One who only looks holds the lock for a moment.
	if err := filelock.Try(f, true, 15*time.Millisecond); err != nil {
		f.Close()
		if errors.Is(err, filelock.ErrBusy) {
			return nil, ErrClaimed
		}
		return nil, err
	}
	c := &Claim{run: r, job: j, file: f}
	if err := c.recover(); err != nil {
		c.Release()
		return nil, &Error{Path: path, Msg: err.Error(), Err: err}
	}
	return c, nil
}

// recover reads the record, cuts off half a line, and removes what is not this
// job's: temporary files, and a checkpoint of other options or data.
func (c *Claim) recover() error {
	record, whole, err := read(c.file)
	if err != nil {
		return err
	}
	if err := c.file.Truncate(whole); err != nil {
		return err
	}
	for _, kind := range []string{"models", "checkpoints"} {
		removeTemporary(filepath.Join(c.run.Dir, kind, "."+c.job.ID+extensions[kind]+".tmp*"))
	}
	if len(record) > 0 && record.Last().Fingerprint != c.job.Fingerprint {
		for _, kind := range []string{"models", "checkpoints"} {
			_ = os.Remove(c.run.Path(kind, c.job.ID))
		}
	}
	c.Record = record.Of(c.job.Fingerprint)
	return nil
}

// State is what the record says.
func (c *Claim) State() State { return c.Record.state() }

// Append adds an event and fills in job, place and time. A result is on the disk
// when it returns.
func (c *Claim) Append(e JobEvent) error {
	e.SchemaVersion, e.Job, e.Fingerprint = SchemaVersion, c.job.ID, c.job.Fingerprint
	e.Host, _ = os.Hostname()
	e.PID, e.Time = os.Getpid(), time.Now().UTC()
	text, err := json.Marshal(e)
	if err != nil {
		return err
	}
	// After a write that failed half-way nothing may follow on the same line.
	end, err := c.file.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	if _, err := c.file.Write(append(text, '\n')); err != nil {
		return errors.Join(err, c.file.Truncate(end))
	}
	if e.Type == Done || e.Type == Failed {
		if err := c.file.Sync(); err != nil {
			return err
		}
	}
	c.Record = append(c.Record, e)
	return nil
}

// Release gives the job back.
func (c *Claim) Release() {
	_ = filelock.Unlock(c.file)
	c.file.Close()
}
