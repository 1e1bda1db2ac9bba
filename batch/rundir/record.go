package rundir

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"gpfit/fit/summary"
	"gpfit/gp"
	"gpfit/internal/atomicfile"
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
	Type          string `json:"type"`
	SchemaVersion int    `json:"schema_version"`
	Job           string `json:"job"`
	// Each is the value of the column each that a line of a part is about; "" for a line about the whole job.
	Each        string    `json:"each,omitempty"`
	Fingerprint string    `json:"fingerprint"`
	Attempt     int       `json:"attempt"`
	Time        time.Time `json:"time"`
	Host        string    `json:"host"`
	PID         int       `json:"pid"`
	// Device is where a job that starts runs.
	Device string `json:"device,omitempty"`
	// Kind and Error describe a failure.
	Kind  string `json:"kind,omitempty"`
	Error string `json:"error,omitempty"`
	// Report and Model are the result. Model is the path of the model file,
	// relative to the run directory, and ModelSHA256 the checksum in it, which Append fills in.
	Report      *summary.Report `json:"report,omitempty"`
	Model       string          `json:"model,omitempty"`
	ModelSHA256 string          `json:"model_sha256,omitempty"`
}

// Record holds the events of a job in order.
type Record []JobEvent

// State is the state of a job.
type State string

// The states of jobs.
const (
	StatePending     State = "pending"
	StateRunning     State = "running"
	StateInterrupted State = "interrupted" // it may continue
	StateDone        State = "done"
	StateFailed      State = "failed"
	// StateDied means that the process that ran the job ended without a word. A job has
	// StateUnknown if a process on another machine began it and holds no lock that this
	// machine can see, which on some file systems it never can.
	StateDied    State = "died"
	StateUnknown State = "unknown"
	// StateDamaged means that the record of the job cannot be read, or that its model is missing or is
	// another one. Whoever claims the job does it again.
	StateDamaged State = "damaged"
)

// States lists the states in the order of reports.
func States() []State {
	return []State{StateDone, StateFailed, StateDamaged, StateRunning, StateUnknown, StateDied, StateInterrupted, StatePending}
}

// Of returns the events of the whole job with the given fingerprint. It leaves out the events of a
// job with the same name but other options or data.
func (r Record) Of(fingerprint string) Record {
	return slices.DeleteFunc(slices.Clone(r), func(e JobEvent) bool { return e.Fingerprint != fingerprint || e.Each != "" })
}

// each returns the last event of each value of a part, by the value; nil for other jobs.
func (r Record) each(fingerprint string) map[string]JobEvent {
	var out map[string]JobEvent
	for _, e := range r {
		if e.Each == "" || e.Fingerprint != fingerprint {
			continue
		}
		if out == nil {
			out = map[string]JobEvent{}
		}
		out[e.Each] = e
	}
	return out
}

// Last returns the last event, or the zero event if the record is empty.
func (r Record) Last() JobEvent {
	if len(r) == 0 {
		return JobEvent{}
	}
	return r[len(r)-1]
}

// Device returns the device on which the job began last, "" if it did not begin.
func (r Record) Device() string {
	for _, e := range slices.Backward(r) {
		if e.Type == Started {
			return e.Device
		}
	}
	return ""
}

// state returns the state according to the events. They do not show whether a job
// that has started still runs.
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

// JobStatus is the state of a job as other processes see it.
type JobStatus struct {
	State
	// Record holds the events of this job, and Each the results and failures of the values of a part.
	Record Record
	Each   map[string]JobEvent
	// About says what is known of the process of a job that died or may have died, or what is damaged.
	About string
}

// Status returns the status of a job without claiming the job. Damage is a state, not an error.
func (r *Run) Status(j PlannedJob) (JobStatus, error) {
	path := r.Path("jobs", j.ID)
	f, err := openFile(r.Dir, path, os.O_RDONLY)
	if errors.Is(err, os.ErrNotExist) {
		return r.withoutEvents(j, "is missing"), nil
	}
	if e, no := errors.AsType[*Error](err); no {
		return JobStatus{State: StateDamaged, About: r.inDir(path) + ": " + e.Msg}, nil
	}
	if err != nil {
		return JobStatus{}, err
	}
	defer f.Close()
	record, _, err := readOf(f, j.ID)
	switch {
	case err != nil:
		return JobStatus{State: StateDamaged, About: fmt.Sprintf("%s: %v", r.inDir(path), err)}, nil
	case len(record) == 0:
		return r.withoutEvents(j, "is empty"), nil
	}
	s := JobStatus{Each: record.each(j.Fingerprint)}
	record = record.Of(j.Fingerprint)
	s.State, s.Record = record.state(), record
	last := record.Last()
	if fault := r.modelFault(record); fault != "" {
		s.State, s.About = StateDamaged, fault
	}
	if last.Type == Started || last.Type == Retry {
		err := filelock.Try(f, false, 0)
		switch {
		case errors.Is(err, filelock.ErrBusy):
			s.State = StateRunning
		case last.Type == Started:
			s.State, s.About = r.fate(j, last, err)
		}
	}
	if model := r.Path("models", j.ID); (s.State == StateDied || s.State == StateInterrupted) && exists(model) {
		s.State, s.About = StateDamaged, fmt.Sprintf("%s ends before the result, though there is %s", r.inDir(path), r.inDir(model))
	}
	return s, nil
}

// Busy reports whether this machine sees that a process has claimed a job.
func (r *Run) Busy(j PlannedJob) bool {
	f, err := openFile(r.Dir, r.Path("jobs", j.ID), os.O_RDONLY)
	if err != nil {
		return false
	}
	defer f.Close()
	return errors.Is(filelock.Try(f, false, 0), filelock.ErrBusy)
}

// modelFault says what is wrong with the model of the last event, if that is a result.
func (r *Run) modelFault(record Record) string {
	if e := record.Last(); e.Type == Done && e.Model != "" {
		return modelFault(r.Dir, e.Model, e.ModelSHA256)
	}
	return ""
}

// withoutEvents returns the status of a job of whose record nothing is left, as what says. If the job has a
// model, or a part a log, there was more.
func (r *Run) withoutEvents(j PlannedJob, what string) JobStatus {
	left := r.Path("models", j.ID)
	if j.Each != nil {
		left = r.Path("logs", j.ID)
	}
	if exists(left) {
		return JobStatus{State: StateDamaged, About: fmt.Sprintf("%s %s, though there is %s", r.inDir(r.Path("jobs", j.ID)), what, r.inDir(left))}
	}
	return JobStatus{State: StatePending}
}

// fate decides whether the process that began a job has died, if nobody is seen to hold
// the lock of the job. locks is the error of locks on this file system, if any. A process
// of this machine would hold the lock.
func (r *Run) fate(j PlannedJob, began JobEvent, locks error) (State, string) {
	host, _ := os.Hostname()
	at := began.Time.Local().Format(time.DateTime)
	if began.Host == host && locks == nil {
		return StateDied, fmt.Sprintf("process %d began it at %s and died", began.PID, at)
	}
	why := "this machine sees no lock of it, and may not see locks of other machines"
	if locks != nil {
		why = "there are no locks on this file system"
	}
	return StateUnknown, fmt.Sprintf("process %d on %s began it at %s and runs or has died: %s; its files changed last at %s",
		began.PID, began.Host, at, why, r.lastChange(j).Local().Format(time.DateTime))
}

// lastChange returns when a file of a job changed last.
func (r *Run) lastChange(j PlannedJob) time.Time {
	var last time.Time
	for kind := range extensions {
		if info, err := os.Stat(r.Path(kind, j.ID)); err == nil && info.ModTime().After(last) {
			last = info.ModTime()
		}
	}
	return last
}

// sealedVersion is the version of an event from which on its line has a checksum.
const sealedVersion = 2

// read parses a record and returns it with the length of its whole lines in bytes.
func read(f io.Reader) (Record, int64, error) {
	text, err := io.ReadAll(f)
	if err != nil {
		return nil, 0, fmt.Errorf("cannot be read: %w", atomicfile.Cause(err))
	}
	whole := bytes.LastIndexByte(text, '\n') + 1
	if bytes.IndexByte(text[whole:], 0) >= 0 {
		return nil, 0, errors.New("its end is damaged: it has zeros")
	}
	var out Record
	for text := range bytes.Lines(text[:whole]) {
		e, err := parseEvent(text)
		if err != nil {
			return nil, 0, fmt.Errorf("line %d is damaged: %w", len(out)+1, err)
		}
		out = append(out, e)
	}
	return out, int64(whole), nil
}

// readOf is read for the record of a job. The record of another job in its place is damage.
func readOf(f io.Reader, job string) (Record, int64, error) {
	record, whole, err := read(f)
	for i, e := range record {
		if e.Job != job {
			return nil, 0, fmt.Errorf("line %d is of the job %s: another file is in its place", i+1, e.Job)
		}
	}
	return record, whole, err
}

// parseEvent parses a line of a record.
func parseEvent(line []byte) (e JobEvent, err error) {
	has, err := sealed(line)
	if err != nil {
		return e, err
	}
	if err := json.Unmarshal(line, &e); err != nil {
		return e, errors.New(inWords(err))
	}
	switch {
	case e.SchemaVersion >= sealedVersion && !has:
		return e, errSeal
	case !slices.Contains([]string{Started, Done, Failed, Retry, Interrupted}, e.Type):
		return e, fmt.Errorf("%q is no event", e.Type)
	}
	return e, nil
}

// Claim is the exclusive right to work on a job. It ends with Release or with the process.
type Claim struct {
	run    *Run
	job    PlannedJob
	file   *os.File
	Record Record
	// Each holds the results, without their reports, and the failures of the values of a part.
	Each map[string]JobEvent
}

// ErrClaimed reports that another process, or another part of this process, works on the job.
var ErrClaimed = errors.New("the job is claimed by another process")

// Claim claims a job. It removes files that a killed process left half-written.
// Errors: [ErrClaimed], [*Error].
func (r *Run) Claim(j PlannedJob) (*Claim, error) {
	path := r.Path("jobs", j.ID)
	for _, kind := range []string{"jobs", "models", "checkpoints"} {
		if err := setAsideOther(r.Path(kind, j.ID)); err != nil {
			return nil, err
		}
	}
	f, err := openFile(r.Dir, path, os.O_RDWR|os.O_CREATE|os.O_APPEND)
	if err != nil {
		return nil, err
	}
	// A process that calls Status holds the lock for a moment.
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

// recover reads the record, cuts off half a line at its end, and removes temporary files. If the
// last event is from other options or data, it also removes the model and the checkpoint. It sets a
// damaged record aside, and the model in the place of the job's. If the system fails to read one of the
// two, nothing is known of damage, and nothing changes.
func (c *Claim) recover() error {
	record, whole, err := readOf(c.file, c.job.ID)
	if ofSystem(err) {
		return err
	}
	if err != nil {
		if err := copyAside(c.file, c.run.Path("jobs", c.job.ID)); err != nil {
			return err
		}
	}
	if err := c.file.Truncate(whole); err != nil {
		return err
	}
	if len(record) > 0 { // no process has begun a job without a record
		c.clean(record.Last().Fingerprint != c.job.Fingerprint)
	}
	c.Record, c.Each = record.Of(c.job.Fingerprint), record.each(c.job.Fingerprint)
	for label, e := range c.Each {
		e.Report = nil
		c.Each[label] = e
	}
	if c.run.modelFault(c.Record) == "" {
		return nil
	}
	model := c.run.Path("models", c.job.ID)
	if _, err := gp.Checksum(model); ofSystem(err) && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return SetAside(model)
}

// clean removes temporary files and, if all is true, the model and the checkpoint. It
// lists folders, which takes time in a run of many jobs.
func (c *Claim) clean(all bool) {
	for _, kind := range []string{"models", "checkpoints"} {
		removeTemporary(filepath.Join(c.run.Dir, kind, "."+c.job.ID+extensions[kind]+".tmp*"))
		if all {
			_ = os.Remove(c.run.Path(kind, c.job.ID))
		}
	}
}

// State returns the state according to the record and the model.
func (c *Claim) State() State {
	if c.run.modelFault(c.Record) != "" {
		return StateDamaged
	}
	return c.Record.state()
}

// Append adds an event with the job, host, process and time filled in. When Append
// returns, a result or a failure of the whole job is on the disk, with what came before.
func (c *Claim) Append(e JobEvent) error {
	e.SchemaVersion, e.Job, e.Fingerprint = sealedVersion, c.job.ID, c.job.Fingerprint
	e.Host, _ = os.Hostname()
	e.PID, e.Time = os.Getpid(), time.Now().UTC()
	if e.Model != "" {
		var err error
		if e.ModelSHA256, err = gp.Checksum(filepath.Join(c.run.Dir, filepath.FromSlash(e.Model))); err != nil {
			return err
		}
	}
	text, err := json.Marshal(e)
	if err != nil {
		return err
	}
	// If a write fails half-way, the next event must not follow on the same line.
	end, err := c.file.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	if _, err := c.file.Write(append(seal(text, ""), '\n')); err != nil {
		return errors.Join(err, c.file.Truncate(end))
	}
	if e.Each != "" { // a machine that fails may lose it, and it is done again then
		if e.Report = nil; c.Each == nil {
			c.Each = map[string]JobEvent{}
		}
		c.Each[e.Each] = e
		return nil
	}
	if e.Type == Done || e.Type == Failed {
		if err := c.file.Sync(); err != nil {
			return err
		}
		atomicfile.SyncFolder(filepath.Join(c.run.Dir, "jobs"))
	}
	c.Record = append(c.Record, e)
	return nil
}

// Release releases the job for other processes.
func (c *Claim) Release() {
	_ = filelock.Unlock(c.file)
	c.file.Close()
}
