package batch

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"

	"gpfit/device"
	"gpfit/fit/problem"
	"gpfit/hyperopt/journal"
	"gpfit/kernel"
	"gpfit/table"
)

// The kinds of failures, as records name them.
const (
	KindData   = "data"
	KindOption = "option"
	KindNotPD  = "not-positive-definite"
	KindMemory = "memory"
	KindDevice = "device"
	KindWrite  = "write"
	KindPanic  = "panic"
	KindOther  = "other"
)

// errPanic marks the panic of a job.
var errPanic = errors.New("panic")

// errWrite marks a failure to write a result.
var errWrite = errors.New("batch: a result was not written")

// kindOf returns the kind of a failure.
func kindOf(err error) string {
	switch {
	case errors.Is(err, errPanic):
		return KindPanic
	case errors.Is(err, errWrite), as[*journal.Error](err) && !uselessCheckpoint(err), errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EFBIG), errors.Is(err, syscall.EIO), errors.Is(err, syscall.EDQUOT):
		return KindWrite
	case as[*device.MemoryError](err):
		return KindMemory
	case as[*device.LostError](err), as[*device.WrongError](err), as[*device.UnavailableError](err):
		return KindDevice
	case device.IsNotPD(err):
		return KindNotPD
	case isData(err), as[*device.NonFiniteError](err), errors.Is(err, fs.ErrNotExist):
		return KindData
	case as[*problem.OptionError](err), as[*kernel.ParseError](err), as[*kernel.CompileError](err), as[*kernel.KernelhoodError](err):
		return KindOption
	}
	return KindOther
}

// uselessCheckpoint reports whether the contents of a checkpoint ended a fit: they are damaged or of
// another job.
func uselessCheckpoint(err error) bool {
	e, ok := errors.AsType[*journal.Error](err)
	return ok && e.Err == nil
}

// retryable reports whether the place or the moment may have caused a failure, and not the job.
func retryable(kind string) bool {
	return kind == KindMemory || kind == KindDevice || kind == KindWrite
}

func as[T error](err error) bool {
	_, ok := errors.AsType[T](err)
	return ok
}

// JobsFailedError reports that some jobs failed. The command line maps it to exit code 3.
type JobsFailedError struct {
	Failed []Failure
	Total  int
	// Planned means that the jobs have not run yet and will fail.
	Planned bool
}

func (e *JobsFailedError) Error() string {
	if e.Planned {
		return fmt.Sprintf("%d of %d jobs will fail, as the warnings say", len(e.Failed), e.Total)
	}
	return fmt.Sprintf("%d of %d jobs failed", len(e.Failed), e.Total)
}

// Failure is a failed job with the kind and the text of its error.
type Failure struct{ Job, Kind, Error string }

// CheckPlan returns a [*JobsFailedError] if jobs of a plan are going to fail.
func CheckPlan(jobs []PlannedJob) error {
	e := &JobsFailedError{Total: len(jobs), Planned: true}
	for _, j := range jobs {
		if j.N == 0 {
			e.Failed = append(e.Failed, Failure{Job: j.ID, Kind: KindOther})
		}
	}
	if e.Failed == nil {
		return nil
	}
	return e
}

// ErrChanged marks inputs that have changed since the run was made.
var ErrChanged = errors.New("inputs have changed")

// ChangedError returns a [*DirectoryError] with [ErrChanged] that names what has changed.
func ChangedError(dir string, what ...string) error {
	return &DirectoryError{Path: dir, Msg: "changed since the run was made: " + strings.Join(what, ", "), Err: ErrChanged}
}

// Changed returns an error with [ErrChanged] if the spec or an input has changed since
// the run was made.
func Changed(r *Directory) error {
	what, err := r.Changes()
	if err == nil && len(what) > 0 {
		err = ChangedError(r.Dir, what...)
	}
	return err
}

// isData reports whether the input, and not the machine, caused an error.
func isData(err error) bool {
	return as[*table.Error](err) || as[*problem.DataError](err)
}
