// Package rundir keeps the directory of a batch: it holds everything about the batch.
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
// A job that is a part of the values of a column has lines with the member "each", one for each value, and no model.
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
	"gpfit/internal/userfile"
)

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

// checkNew returns an error if dir has files that Create has not made.
func checkNew(dir string) error {
	entries, err := userfile.Folder(dir)
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

// makeFolders makes the missing folders of a run. Their names survive a failure of the machine.
func makeFolders(dir string) error {
	for _, f := range folders {
		if err := os.MkdirAll(filepath.Join(dir, f), 0o755); err != nil {
			return err
		}
	}
	atomicfile.SyncFolder(dir)
	atomicfile.SyncFolder(filepath.Dir(filepath.Clean(dir)))
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
	f, err := openFile(r.Dir, path, os.O_RDONLY)
	if err != nil {
		return ""
	}
	defer f.Close()
	if err := filelock.Try(f, true, 0); errors.Is(err, filelock.ErrBusy) {
		return whoHolds(r.Dir)
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
