package testmethod

import (
	"cmp"
	"context"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"gpfit/device"
	"gpfit/kernel"
)

// NearlyName is the name of [Nearly].
const NearlyName = "nearly"

// Nearly is a method with a bound: it computes with Σ + εI in the place of Σ, for ε = Error times the wanted tolerance, and
// says that it takes a share of the operations of the dense method. Its effects are known in closed form.
type Nearly struct {
	Method
	// Error is ε of a tolerance of one nat, and Share the share of the operations; 0 means 1.
	Error, Share float64
	// Verify returns Miss and Slope, the bound of the gradient, and takes the share Rows of the rows; 0 means all.
	Miss, Slope, Rows float64
	// Least is the least first parameter of a kernel that it does not refuse or, if Blind, for which it has digits.
	Least float64
	Blind bool
}

// About implements [device.Method].
func (m Nearly) About() device.About {
	return device.About{Name: NearlyName, Bounded: true, Text: "the formulas of the literature for Σ + εI, for tests", Help: "the formulas for Σ + εI"}
}

// Backends returns one backend for each device.
func (m Nearly) Backends(devices []device.Device) (out []device.Backend, err error) {
	all, err := m.Method.Backends(devices)
	for _, b := range all {
		out = append(out, nearlyBackend{b, m, device.DefaultTolerance})
	}
	return out, err
}

type nearlyBackend struct {
	device.Backend
	m         Nearly
	tolerance float64
}

// For keeps the tolerance.
func (b nearlyBackend) For(w device.Workload) device.Backend {
	b.tolerance = cmp.Or(w.Tolerance, device.DefaultTolerance)
	return b
}

func (b nearlyBackend) Capabilities() device.Capabilities {
	c := b.Backend.Capabilities()
	c.Method, c.Exact = NearlyName, false
	return c
}

func (b nearlyBackend) Plan(w device.Workload) device.Plan {
	p := b.Backend.Plan(w)
	if b.m.Share > 0 {
		p.FlopsGradient *= b.m.Share
	}
	return p
}

func (b nearlyBackend) NewWorkspace(ctx context.Context, x *kernel.Points) (device.Workspace, error) {
	w, err := b.Backend.NewWorkspace(ctx, x)
	if err != nil {
		return nil, err
	}
	return &nearly{workspace: w.(workspace), m: b.m, x: x, epsilon: b.m.Error * b.tolerance}, nil
}

// nearly implements [device.Bounded].
type nearly struct {
	workspace
	m       Nearly
	x       *kernel.Points
	epsilon float64

	prog         *kernel.Program
	theta, noise []float64
	fit          float64
}

func (w *nearly) Method() string { return NearlyName }

func (w *nearly) Form(ctx context.Context, prog *kernel.Program, theta, noise []float64) error {
	if theta[0] < w.m.Least && w.m.Blind {
		return &device.NotPDError{N: w.N()}
	}
	if theta[0] < w.m.Least {
		return &device.UnsupportedError{Method: NearlyName, What: "so short a lengthscale"}
	}
	w.prog, w.theta, w.noise = prog, slices.Clone(theta), slices.Clone(noise)
	raised := slices.Clone(noise)
	floats.AddConst(w.epsilon, raised)
	return w.workspace.Form(ctx, prog, theta, raised)
}

func (w *nearly) Solve(ctx context.Context, b []float64, m int) error {
	err := w.workspace.Solve(ctx, b, m)
	w.fit = 0
	for k := range m {
		// ½yᵀ(Σ⁻¹ − Σ̃⁻¹)y = ½ε·α̃ᵀΣ⁻¹Σ̃α̃, and no eigenvalue of Σ⁻¹Σ̃ is above 1 + ε/σ²
		length := floats.Norm(b[k*w.N():(k+1)*w.N()], 2)
		w.fit = max(w.fit, w.epsilon*length*length/2*(1+w.epsilon/slices.Min(w.noise)))
	}
	return err
}

// Bound implements [device.Bounded]: log(1 + ε/λ) ≤ ε/σ² for each eigenvalue λ.
func (w *nearly) Bound() device.Bound {
	return device.Bound{Tolerance: w.epsilon, LogDet: float64(w.N()) * w.epsilon / (2 * slices.Min(w.noise)), Fit: w.fit, Rank: 1}
}

// Verify implements [device.Bounded].
func (w *nearly) Verify(_ context.Context, y, alpha []float64, m int) (device.Verified, error) {
	n := w.N()
	out := device.Verified{Miss: w.m.Miss, LogDet: w.Bound().LogDet, Gradient: w.m.Slope}
	if out.Rows = int(cmp.Or(w.m.Rows, 1) * float64(n)); out.Rows < n {
		return out, nil
	}
	e, row := kernel.NewEvaluator(w.prog), make([]float64, n)
	e.Bind(w.theta)
	for k := range m {
		correction, square := 0.0, 0.0
		for i := range n {
			e.Row(row, w.x, i, w.x, 0, n)
			row[i] += w.noise[min(i, len(w.noise)-1)]
			r := y[k*n+i] - floats.Dot(row, alpha[k*n:(k+1)*n])
			correction, square = correction+r*alpha[k*n+i]/2, math.FMA(r, r, square)
		}
		out.Correction, out.Rest = append(out.Correction, correction), append(out.Rest, square/(2*slices.Min(w.noise)))
	}
	return out, nil
}
