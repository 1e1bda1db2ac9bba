package fit

import (
	"context"
	"errors"
	"time"

	"gpfit/device"
	"gpfit/fit/problem"
)

// Select fits the kernels one after the other and compares them. opts applies to
// each, except for the kernel. If ctx is cancelled, Select returns the comparison so
// far, with the best kernel, and an error that wraps ctx's; the result is nil only if
// no kernel was done. A kernel that cannot be fitted is a candidate with an error.
// Errors: those of [Prepare] for any kernel in the list, before any fit;
// [*device.MemoryError]; [*device.LostError]; and an error if no kernel could be
// fitted.
func Select(ctx context.Context, data problem.Data, opts problem.Options, events problem.Events, s SelectOptions, backends ...device.Backend) (*Selection, error) {
	began := time.Now()
	s, err := s.withDefaults()
	if err != nil {
		return nil, err
	}
	if data.TargetNames != nil {
		return nil, problem.OptionErrorf("target", "", "gpfit compares kernels on one target; select a kernel for each target separately")
	}
	r := &selection{ctx: ctx, data: data, opts: opts, events: events, settings: s, backends: backends, tried: map[string]bool{}, best: -1}
	r.opts.LeaveOneOut = true
	start, err := r.parse()
	if err != nil {
		return nil, err
	}
	if err = r.round(0, start); err == nil && s.Greedy {
		err = r.grow(start)
	}
	if r.best < 0 {
		return nil, errors.Join(err, r.noneFitted())
	}
	result := r.result()
	result.Seconds = time.Since(began).Seconds()
	return result, err
}
