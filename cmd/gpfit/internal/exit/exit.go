// Package exit maps errors to exit codes. It marks errors that are mistakes on the command line.
package exit

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"

	"gpfit/batch"
	"gpfit/batch/rundir"
	"gpfit/batch/spec"
	"gpfit/device"
	"gpfit/fit/problem"
	"gpfit/gp"
	"gpfit/internal/each"
	"gpfit/internal/hostmem"
	"gpfit/internal/textform"
	"gpfit/internal/userfile"
	"gpfit/kernel"
	"gpfit/method/experts"
	"gpfit/table"
)

// The exit codes other than 0 for success.
const (
	Failure     = 1
	Usage       = 2
	SomeFailed  = 3
	Data        = 10
	InUse       = 11
	Device      = 12
	Interrupted = 130
)

// UsageError is a mistake on the command line.
type UsageError struct{ Err error }

func (e *UsageError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *UsageError) Unwrap() error { return e.Err }

// Usagef returns a [*UsageError].
func Usagef(format string, args ...any) error { return &UsageError{fmt.Errorf(format, args...)} }

// Code returns the exit code for err, which a command with the context ctx returned.
func Code(ctx context.Context, err error) int {
	switch {
	case errors.Is(err, context.Canceled) && ctx.Err() != nil:
		return Interrupted
	case is[*batch.JobsFailedError](err):
		return SomeFailed
	case is[*rundir.InUseError](err):
		return InUse
	case is[*spec.Error](err):
		return Usage
	case is[*rundir.Error](err):
		return Data
	case is[*gp.SizeError](err), tooLarge(err), errors.Is(err, hostmem.ErrAddressSpace):
		return Device
	case is[*gp.FileError](err), is[*experts.StateError](err): // whatever is wrong in the file
		return Data
	case is[*UsageError](err), is[*problem.OptionError](err), is[*textform.Error](err), is[*kernel.CompileError](err), device.IsOfMethod(err) && !is[*device.UnavailableError](err):
		return Usage
	case is[*table.Error](err), is[*problem.DataError](err), is[*gp.NoiseError](err), is[*gp.RangeError](err), is[*gp.TargetError](err), is[*kernel.KernelhoodError](err):
		return Data
	case is[*device.UnavailableError](err), is[*device.UnsupportedKernelError](err), is[*device.MemoryError](err), is[*device.LostError](err), is[*device.WrongError](err):
		return Device
	}
	return Failure
}

// Advice returns what a user can do about a system error, or "" if the error's message says enough.
func Advice(err error) string {
	switch {
	case errors.Is(err, syscall.EFBIG):
		return "the file is larger than this process may write: raise the limit with 'ulimit -f'"
	case is[*gp.FileError](err) && is[*userfile.KindError](err):
		return "'gpfit show' and 'gpfit report' show the folder of a batch"
	case errors.Is(err, syscall.EBADF):
		return "standard input or output was closed when gpfit started (<&- or >&-)"
	}
	return ""
}

// tooLarge reports whether a table is too large.
func tooLarge(err error) bool {
	var e *table.Error
	return errors.As(err, &e) && e.TooLarge
}

func is[T error](err error) bool {
	var target T
	return errors.As(err, &target)
}

// Status is an exit code with its meaning: in a few words, and in the words of the reference.
type Status struct {
	Code           int
	Short, Meaning string
}

// Statuses returns every exit code of the program, in ascending order.
func Statuses() []Status {
	return []Status{
		{0, "success", "success"},
		{Failure, "failure", "failure of the disk, of the system, or of the numbers at given parameters"},
		{Usage, "usage", "mistake on the command line or in a spec"},
		{SomeFailed, "some jobs of a batch failed", "some jobs of a batch failed, or will fail"},
		{Data, "bad input data", "bad input data: a table, a model, a checkpoint or a run"},
		{InUse, "run directory in use", "another process uses the run directory"},
		{Device, "device unavailable, too small or lost", "the device is missing, too small or lost, or a limit of the system leaves too little memory"},
		{Interrupted, "interrupted by Ctrl-C, SIGTERM or SIGHUP", "interrupted by Ctrl-C, SIGTERM or SIGHUP; the best model so far is written"},
	}
}

// Summary returns the exit codes with their meaning as one list.
func Summary() string {
	parts := each.Of(Statuses(), func(s Status) string { return fmt.Sprintf("%d %s", s.Code, s.Short) })
	return strings.Join(parts, ", ")
}
