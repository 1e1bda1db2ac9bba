package finite

import (
	"gpfit/device"
	"gpfit/method/internal/hostmethod"
)

// Name is the name of the method.
const Name = "finite"

// Method returns the method.
func Method() device.Method {
	return hostmethod.Method{
		Words: device.About{
			Name: Name, Exact: true, Text: "a regression on the features of a kernel that has few, such as linear, poly and cosine",
			Help: "a regression on the features of kernels that have few",
		},
		RowBytes: 100, // of a table of two columns and a kernel of two features
		Suitable: "one of its kernels",
		Supports: func(w device.Workload) error { _, err := featuresOf(w); return err },
		Plan:     plan,
		Open:     func(s *hostmethod.State) hostmethod.Engine { return &workspace{State: s} },
	}
}

// Plans count the operations of a factorization of a large matrix that take as long: slowness is about the
// ratio, and flopRate is the number of such operations in a second.
const (
	slowness = 15
	flopRate = 2e9 * slowness
)

// plan returns the plan of a workload, without a kernel for a linear one.
func plan(w device.Workload) device.Plan {
	r := w.D
	if w.Program != nil {
		if own, err := featuresOf(w); err == nil {
			r = own
		}
	}
	n, columns := float64(w.N), float64(r)
	value := slowness * n * columns * (2*columns + 10)
	plan := device.Plan{
		N: w.N, D: w.D, FlopsValue: value, FlopsGradient: 2*value + slowness*n*columns*columns, FlopRate: flopRate,
		Needs: []device.Need{featureNeed(w.N, r)},
	}
	if w.Diagonal {
		plan.FlopsGradient += slowness * 6 * n * columns * columns
	}
	return plan
}
