package markov

import (
	"fmt"

	"gpfit/device"
	"gpfit/kernel"
	"gpfit/method/internal/hostmethod"
)

// Name is the name of the method.
const Name = "markov"

// Method returns the method. It uses no accelerator, which would be slower: each row needs the one before.
func Method() device.Method {
	return hostmethod.Method{
		Words: device.About{
			Name: Name, Exact: true, Text: "a Kalman filter over the rows in order, for Matérn and similar kernels of one column",
			Help: "a filter over the rows in order for kernels of one column",
		},
		RowBytes: 100, // of a table of two columns, and of a kernel with one state
		Suitable: "one of its kernels",
		Supports: supports, Plan: plan,
		Open: func(s *hostmethod.State) hostmethod.Engine { return &workspace{State: s} },
	}
}

func supports(w device.Workload) error {
	_, err := layoutOf(w.Program)
	return err
}

// layoutOf returns the layout of a kernel, or an [*device.UnsupportedKernelError].
func layoutOf(prog *kernel.Program) (*layout, error) {
	l, err := newLayout(prog)
	if err != nil {
		return nil, &device.UnsupportedKernelError{Device: hostmethod.Name, Method: Name, Kernel: prog.Text, Err: err}
	}
	return l, nil
}

// flopRate is about the number of operations in a second.
const flopRate = 1e9 * dependence

// plan returns the plan of a workload, without a kernel for one of two states.
func plan(w device.Workload) device.Plan {
	n := int64(w.N)
	l := &layout{states: 2, elements: 4}
	if w.Program != nil {
		if own, err := newLayout(w.Program); err == nil {
			l = own
		}
	}
	flops, s := l.flops(), l.states
	plan := device.Plan{
		N: w.N, D: w.D, FlopsValue: flops.value * float64(n), FlopsGradient: (flops.value + flops.inverse + 4*flops.vector) * float64(n), FlopRate: flopRate,
		Needs: []device.Need{{Bytes: 8 * n * int64(packed(s)+2*s+6), What: fmt.Sprintf("a filter of %d states for %d rows", s, n)}},
	}
	if w.Diagonal {
		plan.FlopsGradient += flops.middle * float64(n)
		plan = plan.With(middleNeed(w.N, s))
	}
	return plan
}
