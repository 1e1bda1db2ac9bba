package device

import (
	"slices"

	"gpfit/internal/each"
)

// open is a backend whose method was chosen for one workload. It knows the methods among which to choose for
// another.
type open struct {
	Backend
	methods []Method
	// chosenFor is the workload for which Backend was chosen.
	chosenFor Workload
}

// undecided returns backends that were chosen among methods for a workload.
func undecided(chosen []Backend, methods []Method, w Workload) []Backend {
	return each.Of(chosen, func(b Backend) Backend { return open{b, methods, w} })
}

// For is the function [For] for this backend. A job that needed a factor still needs it.
func (o open) For(w Workload) Backend {
	w.Factor = w.Factor || o.chosenFor.Factor
	if o.chosenFor.equal(w) {
		return o.Backend
	}
	for _, one := range Weigh(o.methods, o.Capabilities().Devices, w) {
		if one.Chosen {
			return For(one.Backends[0], w)
		}
	}
	return o.Backend
}

// equal reports whether two workloads have the same points and covariance function and need the same.
func (w Workload) equal(v Workload) bool {
	same := w.N == v.N && w.D == v.D && w.Points == v.Points && w.NoiseByRow == v.NoiseByRow && w.Diagonal == v.Diagonal && w.Factor == v.Factor && w.Tolerance == v.Tolerance && w.State == v.State
	return same && (w.Blocks == nil) == (v.Blocks == nil) && w.Program != nil && v.Program != nil && w.Program.Same(v.Program)
}

// For returns the backend for a workload on the same device. If b came from a choice ([Found.On]), it is the backend
// of the method that [Chosen] stands for with this workload. If the user named the method, it is b itself. A backend
// with a method For decides for itself.
func For(b Backend, w Workload) Backend {
	if o, ok := b.(interface{ For(w Workload) Backend }); ok {
		return o.For(w)
	}
	return b
}

// Exactly returns the backend For a workload among the exact methods. It is nil if b did not come from a choice among
// methods, or if no exact one has room.
func Exactly(b Backend, w Workload) Backend {
	if o, ok := b.(interface{ Exactly(w Workload) Backend }); ok {
		return o.Exactly(w)
	}
	return nil
}

// Exactly is the function [Exactly] for this backend.
func (o open) Exactly(w Workload) Backend {
	exact := slices.DeleteFunc(slices.Clone(o.methods), func(m Method) bool { return !m.About().Exact })
	for _, one := range Weigh(exact, o.Capabilities().Devices, w) {
		if one.Chosen && Room(one.Backends[0], one.Plan) == nil {
			return one.Backends[0]
		}
	}
	return nil
}

// Suiting returns the backend For a workload if it supports that, and otherwise the method [Dense] on its only
// device: some rows of a table may lack the structure that the method of all rows needs. A method that is not exact
// is not worth it for few rows.
func Suiting(b Backend, w Workload) Backend {
	b = For(b, w)
	on := b.Capabilities().Devices
	if len(on) != 1 {
		return b
	}
	d, ok := on[0].(DenseDevice)
	if !ok {
		return b
	}
	dense := Dense{}.On(d)
	if b.Supports(w) != nil || !b.Capabilities().Exact && dense.Supports(w) == nil && dense.Plan(w).Brief(fitValues) {
		return dense
	}
	return b
}
