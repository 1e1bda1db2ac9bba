package batch

import (
	"gpfit/batch/rundir"
	"gpfit/batch/spec"
)

// Spec is the content of a spec file: data sets, kernels, splits, seeds and the options of
// their fits. [ParseSpec] and [ReadSpec] return one.
type Spec = spec.Batch

// SpecOptions are the options that a spec takes, as pointers: nil means that the option is
// not given.
type SpecOptions = spec.Options

// SpecError is a mistake in a spec, with its line and column.
type SpecError = spec.Error

// Manifest is a planned batch: every job with all its options, and the SHA-256 of every input.
type Manifest = rundir.Manifest

// PlannedJob is a job of a [Manifest]. Its ID is unique within the batch; Data, Kernel, Split
// and Seed say what it fits.
type PlannedJob = rundir.PlannedJob

// Directory is an open run directory, with the manifest in it. [Directory.Status] returns the
// state of a job, and [Directory.Path] the path of its model or log.
type Directory = rundir.Run

// DirectoryError reports a directory that is not a run, or a damaged run.
type DirectoryError = rundir.Error

// Lock keeps other processes out of a run directory until Release, or until its process ends.
type Lock = rundir.Lock

// InUseError reports that another process works in a run directory.
type InUseError = rundir.InUseError

// LockMode is the kind of a lock: [Exclusive], or [Shared] by processes that work on the run
// together.
type LockMode = rundir.Mode

// The kinds of locks.
const (
	Exclusive = rundir.Exclusive
	Shared    = rundir.Shared
)

// JobStatus is the state of a job with its record. Record.Last has the report of a job that is
// done, and the error of one that failed.
type JobStatus = rundir.JobStatus

// JobEvent is an entry of the record of a job.
type JobEvent = rundir.JobEvent

// State is the state of a job.
type State = rundir.State

// The states of jobs. An interrupted job may continue. The process of a job that died ended
// without a word. The state is unknown if a process on another machine began the job and this
// machine cannot see its lock.
const (
	StatePending     = rundir.StatePending
	StateRunning     = rundir.StateRunning
	StateInterrupted = rundir.StateInterrupted
	StateDone        = rundir.StateDone
	StateFailed      = rundir.StateFailed
	StateDied        = rundir.StateDied
	StateUnknown     = rundir.StateUnknown
)

// ErrExists reports that a directory already has a run.
var ErrExists = rundir.ErrExists

// ReadSpec reads a spec file and also returns its text. Errors are [*SpecError].
func ReadSpec(path string) (*Spec, []byte, error) { return spec.Read(path) }

// ParseSpec reads the text of a spec. Errors are [*SpecError] and name it source.
func ParseSpec(source string, text []byte) (*Spec, error) { return spec.Parse(source, text) }

// Create makes a run directory and returns it with its exclusive lock. dir must be new, empty or
// left by a Create that did not finish. Create calls build with the lock held; build returns the
// manifest, made by [Plan], and the text of the spec. Errors: [*InUseError], [ErrExists],
// [*DirectoryError], build's.
func Create(dir string, build func() (*Manifest, []byte, error)) (*Directory, *Lock, error) {
	return rundir.Create(dir, build)
}

// Join opens a run directory that several processes share, with their lock. The first process
// creates it with build. Errors: the same as for [Create].
func Join(dir string, build func() (*Manifest, []byte, error)) (*Directory, *Lock, error) {
	return rundir.Join(dir, build)
}

// Open opens a run directory without a lock, to read it only. Errors are [*DirectoryError].
func Open(dir string) (*Directory, error) { return rundir.Open(dir) }

// OpenLocked opens a run directory and locks it, to [Run] the jobs that are not done. Errors:
// [*InUseError], [*DirectoryError].
func OpenLocked(dir string, mode LockMode) (*Directory, *Lock, error) {
	return rundir.OpenLocked(dir, mode)
}
