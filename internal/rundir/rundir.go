// Package rundir creates, opens and changes the directory of a batch, which holds
// everything about the batch:
//
//	run.json       the resolved spec: every job with all its options, and the
//	               SHA-256 of every input
//	run.copy.json  the same, in case one of the two is damaged
//	spec.yaml      a copy of the spec
//	lock           keeps a second process out
//	jobs/ID.jsonl  the events of a job, one JSON object per line: "started",
//	               "done" with the report, "failed", "retry", "interrupted"
//	models/, checkpoints/, logs/   ID.gpfit, ID.ckpt, ID.log
//
// This package writes a file whole or not at all. One process at a time appends lines to a job's
// file. If a killed process left half a line at the end, the next process cuts it off. A process
// claims a job with a lock on the job's file. The lock ends with the process, so a claim is never
// stale. Every line of a job's file has a checksum, and so has run.json. A damaged record costs its job,
// which is done again, and nothing else: [StateDamaged]. Start at [Create], [Open] and [Run.Claim].
package rundir

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"gpfit/internal/atomicfile"
	"gpfit/internal/filelock"
	"gpfit/internal/option"
	"gpfit/internal/spec"
)

// SchemaVersion is the version of the files that this package writes.
const SchemaVersion = 1

// Manifest is the content of run.json.
type Manifest struct {
	Type          string    `json:"type"`
	SchemaVersion int       `json:"schema_version"`
	Name          string    `json:"name,omitempty"`
	Program       string    `json:"program"`
	Created       time.Time `json:"created"`
	// SpecPath is the absolute path of the spec file. SpecSHA256 is the SHA-256 of
	// its content when the run was made.
	SpecPath   string `json:"spec_path"`
	SpecSHA256 string `json:"spec_sha256"`
	// Extra holds options of the command line, which override the spec's.
	Extra  spec.Options `json:"extra,omitzero"`
	Slurm  option.Slurm `json:"slurm,omitzero"`
	Inputs []Input      `json:"inputs"`
	Jobs   []PlannedJob `json:"jobs"`
}

// Input is a file, a folder or a pattern of files that jobs read. Bytes is the total size.
type Input struct {
	Path   string `json:"path"`
	SHA256 string `json:"sha256"`
	Bytes  int64  `json:"bytes"`
}

// PlannedJob is a job whose every option is decided.
type PlannedJob struct {
	spec.JobSpec
	// Fingerprint is a hash of everything that the result depends on. A result
	// with another fingerprint belongs to another job.
	Fingerprint string `json:"fingerprint"`
	// N and D are the numbers of training rows and columns, 0 if the data cannot be fitted.
	N int `json:"n"`
	D int `json:"d"`
}

// Run is an open run directory.
type Run struct {
	Dir string
	Manifest
	// Damage says what is wrong with run.json or its copy; "" if nothing is. The other one was read.
	Damage string
}

// Error reports a directory that is not a run, or a damaged run.
type Error struct {
	Path, Msg string
	Err       error
}

func (e *Error) Error() string { return e.Path + ": " + e.Msg }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// ErrExists reports that a directory already has a run.
var ErrExists = errors.New("a run already exists")

var folders = []string{"jobs", "models", "checkpoints", "logs"}

// Create makes a run and returns it with its exclusive lock. dir must be new, empty or left by a
// Create that did not finish. Create calls build with the lock held. build returns the manifest and
// the text of the spec. Errors: [*InUseError], [ErrExists], [*Error], build's.
func Create(dir string, build func() (*Manifest, []byte, error)) (*Run, *Lock, error) {
	if err := checkNew(dir); err != nil {
		return nil, nil, err
	}
	lock, err := acquire(dir, Exclusive, true)
	if err != nil {
		return nil, nil, err
	}
	if Exists(dir) {
		lock.Release()
		return nil, nil, fmt.Errorf("%s: %w", dir, ErrExists)
	}
	removeUnfinished(dir)
	m, specText, err := build()
	if err == nil {
		err = write(dir, m, specText)
	}
	if err != nil {
		lock.Release()
		discard(dir)
		return nil, nil, err
	}
	return &Run{Dir: dir, Manifest: *m}, lock, nil
}

// Exists reports whether dir holds a run.
func Exists(dir string) bool {
	return slices.ContainsFunc(manifests, func(name string) bool {
		_, err := os.Stat(filepath.Join(dir, name))
		return err == nil
	})
}

// checkNew returns an error if dir has files that Create has not made.
func checkNew(dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if len(entries) == 0 || slices.ContainsFunc(entries, func(e os.DirEntry) bool { return e.Name() == "lock" }) {
		return nil
	}
	return &Error{Path: dir, Msg: "is not empty and not a run directory: choose another"}
}

// discard removes the files and the empty folders of an unfinished Create.
func discard(dir string) {
	for _, f := range slices.Concat([]string{"spec.yaml", "lock"}, manifests, folders, []string{""}) {
		_ = os.Remove(filepath.Join(dir, f))
	}
}

// makeFolders makes the missing folders of a run.
func makeFolders(dir string) error {
	for _, f := range folders {
		if err := os.MkdirAll(filepath.Join(dir, f), 0o755); err != nil {
			return err
		}
	}
	return nil
}

// write makes the folders and files. It writes run.json and its copy, which make dir a run, last.
func write(dir string, m *Manifest, specText []byte) error {
	if err := makeFolders(dir); err != nil {
		return err
	}
	if err := atomicfile.WriteBytes(filepath.Join(dir, "spec.yaml"), specText); err != nil {
		return err
	}
	return writeManifests(dir, m, manifests...)
}

// checkJobs checks that every job has its own files, in the run's folders.
func (r *Run) checkJobs() error {
	seen := make(map[string]bool, len(r.Jobs))
	for _, j := range r.Jobs {
		if !spec.IsID(j.ID) {
			return fmt.Errorf("%q is not a valid job name", j.ID)
		}
		if seen[j.ID] {
			return fmt.Errorf("two jobs are named %s", j.ID)
		}
		seen[j.ID] = true
	}
	return nil
}

// whyNoRun returns the reason why dir has no run.json. If dir has a lock, Create was
// stopped before it wrote run.json.
func whyNoRun(dir string) string {
	if _, err := os.Stat(filepath.Join(dir, "lock")); err == nil {
		return "the batch was stopped before its jobs were planned: start it again with 'gpfit batch SPEC --out " + dir + "'"
	}
	return "is not a run directory (it has no run.json)"
}

// OpenLocked opens a run, locks it, and makes its missing folders. It writes run.json or its copy again if
// one of the two is damaged. Errors: [*InUseError], [*Error].
func OpenLocked(dir string, mode Mode) (*Run, *Lock, error) {
	if !Exists(dir) {
		_, err := Open(dir)
		return nil, nil, err
	}
	lock, err := acquire(dir, mode, true)
	if err != nil {
		return nil, nil, err
	}
	r, bad, err := open(dir)
	if err == nil {
		err = makeFolders(dir)
	}
	if err == nil && bad != "" {
		err = writeManifests(dir, &r.Manifest, bad)
		r.Damage += ", and gpfit has written the other one again"
	}
	if err != nil {
		lock.Release()
		return nil, nil, err
	}
	if mode == Exclusive {
		removeUnfinished(dir)
	}
	return r, lock, nil
}

// Join opens a run that several processes share. The first process creates it with
// build. Errors: the same as for [Create] and [OpenLocked].
func Join(dir string, build func() (*Manifest, []byte, error)) (*Run, *Lock, error) {
	const tries = 600 // one minute for another process to build the run
	for try := 0; ; try++ {
		if Exists(dir) {
			return OpenLocked(dir, Shared)
		}
		_, lock, err := Create(dir, build)
		_, busy := errors.AsType[*InUseError](err)
		switch {
		case err == nil:
			lock.Release()
		case errors.Is(err, ErrExists), busy && try < tries:
			time.Sleep(100 * time.Millisecond)
		default:
			return nil, nil, err
		}
	}
}

// Replace writes a new manifest. The caller holds the exclusive lock. Jobs whose
// fingerprint is unchanged keep their results.
func (r *Run) Replace(m *Manifest, specText []byte) error {
	m.Created = r.Created
	r.Manifest = *m
	return write(r.Dir, &r.Manifest, specText)
}

// Worker describes the processes that work on the run, or is empty if this machine sees no
// lock of theirs.
func (r *Run) Worker() string {
	path := filepath.Join(r.Dir, "lock")
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	if err := filelock.Try(f, true, 0); errors.Is(err, filelock.ErrBusy) {
		return whoHolds(path)
	}
	return ""
}

// Path returns the path of a job's file. kind is "jobs", "models", "checkpoints" or "logs".
func (r *Run) Path(kind, id string) string {
	return filepath.Join(r.Dir, kind, id+extensions[kind])
}

var extensions = map[string]string{"jobs": ".jsonl", "models": ".gpfit", "checkpoints": ".ckpt", "logs": ".log"}

// removeUnfinished removes the temporary files that a killed process left in dir.
func removeUnfinished(dir string) {
	for _, name := range append([]string{"spec.yaml", "report.html"}, manifests...) {
		removeTemporary(filepath.Join(dir, "."+name+".tmp*"))
	}
}

func removeTemporary(pattern string) {
	files, _ := filepath.Glob(pattern)
	for _, f := range files {
		_ = os.Remove(f)
	}
}
