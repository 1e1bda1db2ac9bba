package problem

import (
	"context"
	"time"

	"gpfit/device"
	"gpfit/hyperopt/descent"
)

// Events are the functions that a job calls while it computes. Each may be nil. They do not
// change the result, except for a fallback device.
type Events struct {
	// OnProgress is called during long evaluations, OnIteration after every accepted
	// iteration of the optimiser. Calls of OnIteration never overlap.
	OnProgress  func(device.Progress)
	OnIteration func(descent.Iteration)
	// OnDraw is called after each iteration of a chain of the posterior.
	OnDraw func(chain, iteration int)
	// OnExpert is called with the number of local experts with parameters of their own that
	// are tuned, and with about how much time is left.
	OnExpert func(done, all int, left time.Duration)
	// Fallback opens the device on which the fit continues if a device is lost or its memory
	// does not suffice. The job closes that device. OnWarning receives the warning.
	Fallback  func(ctx context.Context) (device.Backend, error)
	OnWarning func(text string)
}
