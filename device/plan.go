package device

import (
	"fmt"
	"math"
	"slices"
	"time"

	"gpfit/kernel"
)

// Plan is the memory and the work that a job needs, computed before any allocation.
type Plan struct {
	N, D int
	// Needs lists the parts of the peak memory.
	Needs []Need
	// FlopsValue and FlopsGradient are the floating-point operations of one
	// value, and of one value with gradient.
	FlopsValue, FlopsGradient float64
	// Middle and MiddleFlops are, in plans of a [DenseDevice], the additional memory and
	// operations of a gradient if the adjoint has a middle term. Plans of a [Backend]
	// include them if the workload has such a term.
	Middle      []Need
	MiddleFlops float64
	// FlopRate is the estimated speed in operations per second, 0 if unknown.
	FlopRate float64
}

// Need is an amount of memory on the host or on one accelerator.
type Need struct {
	// Device is the name of the accelerator, "" for the host.
	Device string
	Bytes  int64
	// What describes the purpose.
	What string
}

// MatrixPlan is the plan of a method that holds one n×n matrix of float64 numbers and works on it
// in place: n³/3 operations for a value, n³ with gradient. accelerator names the device that holds
// the matrix, "" for the host; bytes is the size of the matrix and the working space.
func MatrixPlan(n, d int, accelerator string, bytes int64) Plan {
	cube := float64(n) * float64(n) * float64(n)
	what := fmt.Sprintf("one %d×%d matrix of 8-byte numbers and working space", n, n)
	return Plan{N: n, D: d, Needs: []Need{{accelerator, bytes, what}}, FlopsValue: cube / 3, FlopsGradient: cube}
}

// GradientTime returns the estimated time of one value with gradient, 0 if unknown.
func (p Plan) GradientTime() time.Duration {
	if p.FlopRate <= 0 {
		return 0
	}
	return time.Duration(p.FlopsGradient / p.FlopRate * float64(time.Second))
}

// GradientTime returns the estimated time of one value with gradient on b, 0 if unknown. Plans of few rows have no rate: they spend
// their time on n² numbers and on the graph, too, and on sums more than in proportion to their terms.
func GradientTime(b Backend, w Workload) time.Duration {
	p := b.Plan(w)
	if p.FlopRate == 0 {
		const fast = 2000 // rows from which plans have a rate
		n := math.Cbrt(p.FlopsGradient)
		p.FlopRate, p.FlopsGradient = b.Plan(Workload{N: fast, D: w.D}).FlopRate, p.FlopsGradient+(2*terms(w.Program)-1)*(100*n*n+8e6)
	}
	return p.GradientTime()
}

// terms returns the number of variances of a kernel, at least one.
func terms(p *kernel.Program) float64 {
	count := 0
	if p != nil {
		for _, param := range p.Params {
			if param.Kind == kernel.Variance {
				count++
			}
		}
	}
	return float64(max(1, count))
}

// With returns the plan with further needs.
func (p Plan) With(more ...Need) Plan {
	p.Needs = slices.Concat(p.Needs, more)
	return p
}

// withMiddle returns the plan for adjoints with a middle term.
func (p Plan) withMiddle() Plan {
	p = p.With(p.Middle...)
	p.FlopsGradient += p.MiddleFlops
	return p
}

// HostBytes returns the memory needed on the host.
func (p Plan) HostBytes() int64 { return p.bytes(func(n Need) bool { return n.Device == "" }) }

// DeviceBytes returns the total memory needed on accelerators.
func (p Plan) DeviceBytes() int64 { return p.bytes(func(n Need) bool { return n.Device != "" }) }

func (p Plan) bytes(there func(Need) bool) (sum int64) {
	for _, n := range p.Needs {
		if there(n) {
			sum += n.Bytes
		}
	}
	return sum
}

// Check returns a [*MemoryError] if the plan needs more memory on one of the devices than is free
// there. It skips devices whose free memory is 0, which means unknown, and needs on other devices.
func (p Plan) Check(devices ...Info) error {
	for _, d := range devices {
		there := func(n Need) bool { return n.Device == d.Name }
		where := "device"
		if d.Host {
			there, where = func(n Need) bool { return n.Device == "" }, "host"
		}
		if need := p.bytes(there); d.MemoryFree > 0 && need > d.MemoryFree {
			return &MemoryError{Plan: p, Where: where, Need: need, Free: d.MemoryFree}
		}
	}
	return nil
}

// CheckLimit returns a [*MemoryError] if the plan needs more than limit bytes on
// the host or on any one accelerator.
func (p Plan) CheckLimit(limit int64) error {
	var places []Info
	for _, n := range p.Needs {
		if n.Device != "" {
			places = append(places, Info{Name: n.Device, MemoryFree: limit})
		}
	}
	return p.Check(append(places, Info{Host: true, MemoryFree: limit})...)
}

// MemoryError reports, before any allocation, that a job does not fit in memory.
// The command line maps it to exit code 12.
type MemoryError struct {
	Plan Plan
	// Where is "host" or "device".
	Where string
	// Need and Free are bytes.
	Need, Free int64
	// What names the call on a workspace that does not fit, or is "" for the job of the plan.
	What string
}

func (e *MemoryError) Error() string {
	if e.What != "" {
		return fmt.Sprintf("n = %d: %s needs %s of %s memory, %s are free", e.Plan.N, e.What, FormatBytes(e.Need), e.Where, FormatBytes(e.Free))
	}
	return fmt.Sprintf("n = %d needs %s of %s memory%s, %s are free: use fewer rows or a machine with more memory",
		e.Plan.N, FormatBytes(e.Need), e.Where, e.largest(), FormatBytes(e.Free))
}

// largest returns the purpose of the largest need, in parentheses.
func (e *MemoryError) largest() string {
	var most Need
	for _, n := range e.Plan.Needs {
		if (n.Device == "") == (e.Where == "host") && (most.What == "" || n.Bytes > most.Bytes) {
			most = n
		}
	}
	if most.What == "" {
		return ""
	}
	return " (" + most.What + ")"
}

// FormatBytes returns a number of bytes in binary units, such as "1.5 GiB".
func FormatBytes(b int64) string {
	const units = "KMGTPE"
	if b < 1024 {
		return fmt.Sprintf("%d B", b)
	}
	v, i := float64(b)/1024, 0
	for v >= 1024 && i < len(units)-1 {
		v, i = v/1024, i+1
	}
	return fmt.Sprintf("%.1f %ciB", v, units[i])
}
