package device

import (
	"fmt"
	"time"
)

// Plan is what a job needs, known before anything is allocated.
type Plan struct {
	N, D int
	// HostBytes and DeviceBytes are the peak memory on either side; on the
	// CPU all of it is on the host.
	HostBytes, DeviceBytes int64
	// FlopsValue and FlopsGradient are the floating-point operations of one
	// value, and of one value with gradient.
	FlopsValue, FlopsGradient float64
	// MiddleBytes and MiddleFlops are what an adjoint with a middle term, as that
	// of the leave-one-out likelihood, takes on top of these: panels of Σ⁻¹ on the
	// side where the matrix is, and operations of a gradient.
	MiddleBytes int64
	MiddleFlops float64
	// FlopRate is the estimated speed in operations a second, 0 if unknown.
	FlopRate float64
}

// GradientTime estimates the time of one value with gradient, 0 if unknown.
func (p Plan) GradientTime() time.Duration {
	if p.FlopRate <= 0 {
		return 0
	}
	return time.Duration(p.FlopsGradient / p.FlopRate * float64(time.Second))
}

// WithMiddle returns the plan of a job whose adjoints have a middle term.
func (p Plan) WithMiddle() Plan {
	if p.DeviceBytes > 0 {
		p.DeviceBytes += p.MiddleBytes
	} else {
		p.HostBytes += p.MiddleBytes
	}
	p.FlopsGradient += p.MiddleFlops
	p.MiddleBytes, p.MiddleFlops = 0, 0
	return p
}

// Check returns a [*MemoryError] if the plan needs more than is free. Zero
// stands for an unknown amount and is not checked.
func (p Plan) Check(hostFree, deviceFree int64) error {
	switch {
	case deviceFree > 0 && p.DeviceBytes > deviceFree:
		return &MemoryError{Plan: p, Where: "device", Need: p.DeviceBytes, Free: deviceFree}
	case hostFree > 0 && p.HostBytes > hostFree:
		return &MemoryError{Plan: p, Where: "host", Need: p.HostBytes, Free: hostFree}
	}
	return nil
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
	return fmt.Sprintf("n = %d needs %s of %s memory (one %d×%d matrix of 8-byte numbers and working space), %s are free: use fewer rows or a machine with more memory",
		e.Plan.N, FormatBytes(e.Need), e.Where, e.Plan.N, e.Plan.N, FormatBytes(e.Free))
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
