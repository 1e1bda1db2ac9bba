package device

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"
)

// Plan is what a job needs, known before anything is allocated.
type Plan struct {
	N, D int
	// Needs is the peak memory, in parts.
	Needs []Need
	// FlopsValue and FlopsGradient are the floating-point operations of one
	// value, and of one value with gradient.
	FlopsValue, FlopsGradient float64
	// Middle and MiddleFlops are what an adjoint with a middle term, as that of
	// the leave-one-out likelihood, takes on top of these: memory, and
	// operations of a gradient.
	Middle      []Need
	MiddleFlops float64
	// FlopRate is the estimated speed in operations a second, 0 if unknown.
	FlopRate float64
}

// Need is memory in one place.
type Need struct {
	// Device is the name of the accelerator whose memory it is, "" for the host's.
	Device string
	Bytes  int64
	// What says what it is for.
	What string
}

// MatrixPlan is the plan of a method that holds one n×n matrix of float64 numbers
// and works on it in place: n³/3 operations for a value, n³ with gradient. The
// matrix is in the memory of the accelerator of that name, "" for the host's;
// bytes are its size and that of the working space.
func MatrixPlan(n, d int, accelerator string, bytes int64) Plan {
	cube := float64(n) * float64(n) * float64(n)
	what := fmt.Sprintf("one %d×%d matrix of 8-byte numbers and working space", n, n)
	return Plan{N: n, D: d, Needs: []Need{{accelerator, bytes, what}}, FlopsValue: cube / 3, FlopsGradient: cube}
}

// GradientTime estimates the time of one value with gradient, 0 if unknown.
func (p Plan) GradientTime() time.Duration {
	if p.FlopRate <= 0 {
		return 0
	}
	return time.Duration(p.FlopsGradient / p.FlopRate * float64(time.Second))
}

// With returns the plan of a job that needs more.
func (p Plan) With(more ...Need) Plan {
	p.Needs = slices.Concat(p.Needs, more)
	return p
}

// WithMiddle returns the plan of a job whose adjoints have a middle term.
func (p Plan) WithMiddle() Plan {
	p = p.With(p.Middle...)
	p.FlopsGradient += p.MiddleFlops
	p.Middle, p.MiddleFlops = nil, 0
	return p
}

// HostBytes is the memory needed on the host.
func (p Plan) HostBytes() int64 { return p.bytes(func(n Need) bool { return n.Device == "" }) }

// DeviceBytes is the memory needed on accelerators, all together.
func (p Plan) DeviceBytes() int64 { return p.bytes(func(n Need) bool { return n.Device != "" }) }

func (p Plan) bytes(there func(Need) bool) (sum int64) {
	for _, n := range p.Needs {
		if there(n) {
			sum += n.Bytes
		}
	}
	return sum
}

// Check returns a [*MemoryError] if the plan needs more on one of the devices
// than is free there. Zero stands for an unknown amount and is not checked, nor
// is memory elsewhere.
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

// CheckLimit returns a [*MemoryError] if the plan needs more than limit bytes in
// any one place.
func (p Plan) CheckLimit(limit int64) error {
	var places []Info
	for _, n := range p.Needs {
		if n.Device != "" {
			places = append(places, Info{Name: n.Device, MemoryFree: limit})
		}
	}
	return p.Check(append(places, Info{Host: true, MemoryFree: limit})...)
}

// MemoryError reports a job that does not fit, before anything was allocated.
// The command line maps it to exit code 12.
type MemoryError struct {
	Plan Plan
	// Where is "host" or "device".
	Where string
	// Need and Free are bytes.
	Need, Free int64
	// What names what does not fit where that is not the job of the plan but a
	// call on its workspace.
	What string
}

func (e *MemoryError) Error() string {
	if e.What != "" {
		return fmt.Sprintf("n = %d: %s needs %s of %s memory, %s are free", e.Plan.N, e.What, FormatBytes(e.Need), e.Where, FormatBytes(e.Free))
	}
	return fmt.Sprintf("n = %d needs %s of %s memory%s, %s are free: use fewer rows or a machine with more memory",
		e.Plan.N, FormatBytes(e.Need), e.Where, e.largest(), FormatBytes(e.Free))
}

// largest says in brackets what the largest need is for.
func (e *MemoryError) largest() string {
	var there []Need
	for _, n := range e.Plan.Needs {
		if (n.Device == "") == (e.Where == "host") {
			there = append(there, n)
		}
	}
	if len(there) == 0 {
		return ""
	}
	return " (" + slices.MaxFunc(there, func(a, b Need) int { return cmp.Compare(a.Bytes, b.Bytes) }).What + ")"
}

// MaxRows is the number of rows from which an n×n matrix fits in no device's
// memory: a tebibyte, or sixteen times what the host has free if that is more.
// Reading a table need not go on beyond it.
func MaxRows(hostFree int64) int {
	const largest = 1 << 40
	return int(math.Sqrt(max(largest, 16*float64(hostFree)) / 8))
}

// FormatBytes prints a number of bytes in binary units, such as "1.5 GiB".
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
