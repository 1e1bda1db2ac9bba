// Package devices finds devices and compares them with the CPU: their results, and the size from
// which on they are faster.
package devices

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"gonum.org/v1/gonum/floats"

	"gpfit"
	"gpfit/cpu"
	"gpfit/device"
	"gpfit/device/textbook"
	"gpfit/kernel"
)

// Choose returns the devices found, and gpfit's choice for name.
func Choose(ctx context.Context, name string) (device.Choice, error) {
	return device.Find(ctx, gpfit.Drivers(), gpfit.Methods()...).Choose(name)
}

// CPU returns a description of the processor.
func CPU() string { return cpu.Driver{}.Probe(context.Background())[0].Detail }

// Calibrate measures from which n on the GPU called name is faster than the CPU, and
// returns the result as a sentence.
func Calibrate(ctx context.Context, name string) (string, error) {
	found := device.Find(ctx, gpfit.Drivers(), gpfit.Methods()...)
	b, _, err := found.Open(ctx, device.Request{Device: name})
	if err != nil {
		return "", err
	}
	defer b[0].Close()
	name = b[0].Info().Name
	if b[0].Info().Host {
		return "nothing to calibrate: there is no usable GPU", nil
	}
	n, err := found.Crossover(ctx, device.NewCrossover().Renew, name, b[0])
	if err != nil {
		return "", err
	}
	if n == device.NeverPays {
		return name + " was not faster than the CPU at any size tried", nil
	}
	return fmt.Sprintf("%s is faster than the CPU from n = %d on", name, n), nil
}

// Check compares the results of a device at one size with a reference's results.
type Check struct {
	Device    string `json:"device"`
	Reference string `json:"reference,omitempty"`
	N         int    `json:"n,omitempty"`
	// Value, Gradient and Prediction are errors relative to the size of the terms, and
	// Residual is ‖ΣΣ⁻¹e − e‖∞ of the factor.
	Value      float64 `json:"value"`
	Gradient   float64 `json:"gradient"`
	Prediction float64 `json:"prediction"`
	Residual   float64 `json:"residual"`
	// Seconds is the time on the device.
	Seconds float64 `json:"seconds"`
	// Failed and Skipped give the reason. If both are empty, the check passed.
	Failed  string `json:"failed,omitempty"`
	Skipped string `json:"skipped,omitempty"`
}

// The largest errors that a check allows. Rounding causes a thousandth of them.
const (
	allowedError    = 1e-8
	allowedResidual = 1e-7
)

// checkPatience is the longest expected time that a check may take.
const checkPatience = 2 * time.Minute

// String returns the check as a line of a table.
func (c Check) String() string {
	at := c.Device
	if c.N > 0 {
		at = fmt.Sprintf("%-8s  n = %-6d", c.Device, c.N)
	}
	switch {
	case c.Skipped != "":
		return at + "  skipped: " + c.Skipped
	case c.Failed != "" && c.Seconds == 0:
		return at + "  fails: " + c.Failed
	}
	line := fmt.Sprintf("%s  errors: value %.1e  gradient %.1e  prediction %.1e  residual %.1e  %.2f s", at, c.Value, c.Gradient, c.Prediction, c.Residual, c.Seconds)
	if c.Failed != "" {
		return line + "  fails: " + c.Failed
	}
	return line + "  passes"
}

// Finite returns c with −1 for errors that are not finite, which JSON cannot hold.
func (c Check) Finite() Check {
	for _, v := range []*float64{&c.Value, &c.Gradient, &c.Prediction, &c.Residual} {
		if *v-*v != 0 {
			*v = -1
		}
	}
	return c
}

// judge sets Failed.
func (c *Check) judge() {
	var off []string
	for _, e := range []struct {
		what           string
		value, allowed float64
	}{
		{"value", c.Value, allowedError}, {"gradient", c.Gradient, allowedError},
		{"prediction", c.Prediction, allowedError}, {"residual", c.Residual, allowedResidual},
	} {
		if !(e.value <= e.allowed) {
			off = append(off, fmt.Sprintf("%s off by %.1e, allowed %.0e", e.what, e.value, e.allowed))
		}
	}
	c.Failed = strings.Join(off, ", ")
}

// CheckAll opens the devices in name, or the CPU and all accelerators for auto, compares
// accelerators with the CPU and the CPU with plain formulas at the given sizes, and calls tell with
// each outcome. It returns the errors of devices that do not open or compute wrong results.
func CheckAll(ctx context.Context, name string, sizes []int, tell func(Check)) error {
	found := device.Find(ctx, gpfit.Drivers())
	names := strings.Split(name, ",")
	if name == device.Auto {
		names = []string{found.Host()}
		for _, f := range found.Accelerators() {
			names = append(names, f.Name)
		}
	}
	var all error
	for _, name := range names {
		all = errors.Join(all, checkDevice(ctx, found, name, sizes, tell))
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return all
}

// reference returns the device that a device is compared with: the CPU for an accelerator,
// and plain formulas on gonum, which take many times as long, for the CPU.
func reference(b device.Backend) (device.Backend, error) {
	if b.Info().Host {
		return textbook.New(), nil
	}
	return cpu.New(device.Options{})
}

// checkDevice opens a device and compares it at all sizes for which memory and time suffice.
func checkDevice(ctx context.Context, found device.Found, name string, sizes []int, tell func(Check)) error {
	opened, _, err := found.Open(ctx, device.Request{Device: name})
	if err != nil {
		tell(Check{Device: name, Failed: err.Error()})
		return err
	}
	b := opened[0]
	defer b.Close()
	name = b.Info().Name
	if name == textbook.Name {
		tell(Check{Device: name, Skipped: "the others are compared with it"})
		return nil
	}
	standard, err := reference(b)
	if err != nil {
		return err
	}
	defer standard.Close()
	var wrong error
	took, last := time.Duration(0), 1
	for _, n := range slices.Sorted(slices.Values(sizes)) {
		c := Check{Device: name, Reference: standard.Info().Name, N: n}
		grown := math.Pow(float64(n)/float64(last), 3)
		if expected := time.Duration(min(took.Seconds()*grown, 1e9) * float64(time.Second)); expected > checkPatience {
			c.Skipped = fmt.Sprintf("it would take about %v", expected.Round(time.Second))
			tell(c)
			return wrong
		}
		began := time.Now()
		err := c.compare(ctx, standard, b)
		var memory *device.MemoryError
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.As(err, &memory):
			c.Skipped = err.Error()
		case err != nil:
			c.Failed = err.Error()
			wrong = errors.Join(wrong, err)
		default:
			if c.judge(); c.Failed != "" {
				wrong = errors.Join(wrong, &device.WrongError{Device: name, What: fmt.Sprintf("at n = %d: %s", n, c.Failed)})
			}
		}
		took, last = time.Since(began), n
		tell(c)
	}
	return wrong
}

// compare solves one problem on the reference and on b, and sets the errors.
func (c *Check) compare(ctx context.Context, reference, b device.Backend) error {
	p, err := newProblem(c.N)
	if err != nil {
		return err
	}
	want, err := p.on(ctx, reference)
	if err != nil {
		return err
	}
	began := time.Now()
	got, err := p.on(ctx, b)
	if err != nil {
		return err
	}
	c.Seconds = time.Since(began).Seconds()
	size := math.Abs(want.logDet) + math.Abs(want.fit)
	c.Value = max(math.Abs(got.logDet-want.logDet), math.Abs(got.fit-want.fit)) / size
	c.Gradient = apart(got.gradient, want.gradient) / size
	c.Prediction = max(apart(got.mean, want.mean), apart(got.reduction, want.reduction))
	c.Residual = got.residual
	return nil
}

// apart returns the largest absolute difference, or NaN if a difference is NaN.
func apart(a, b []float64) float64 {
	worst := 0.0
	for i, v := range a {
		worst = max(worst, math.Abs(v-b[i]))
	}
	return worst
}

// problem is a likelihood with gradient and predictions.
type problem struct {
	prog         *kernel.Program
	x, xs        *kernel.Points
	theta, noise []float64
	y            []float64
}

// newProblem returns the same problem for each n, with n points without structure.
func newProblem(n int) (*problem, error) {
	const d, test = 4, 50
	prog, err := kernel.CompileText("matern52(ard) + rbf", d)
	if err != nil {
		return nil, err
	}
	p := &problem{prog: prog, noise: []float64{0.01}, y: make([]float64, n)}
	rows := func(n int, step float64) *kernel.Points {
		v := make([]float64, n*d)
		for i := range v {
			v[i] = 2 * math.Sin(1+step*float64(i))
		}
		return kernel.NewPoints(v, n, d)
	}
	p.x, p.xs = rows(n, 1.7), rows(test, 0.9)
	for i := range p.y {
		p.y[i] = math.Cos(2.3*float64(i)) + math.Sin(p.x.X[i])
	}
	for i := range p.prog.NumParams {
		p.theta = append(p.theta, 0.6+0.1*float64(i))
	}
	return p, nil
}

// residual returns ‖ΣΣ⁻¹e − e‖∞ for some e.
func (p *problem) residual(ctx context.Context, ws device.Workspace) (float64, error) {
	if checker, ok := ws.(device.ResidualChecker); ok {
		return checker.Residual(ctx)
	}
	n := ws.N()
	e, row := make([]float64, n), make([]float64, n)
	for i := range e {
		e[i] = 1 - 2*float64(i%2)
	}
	solved := slices.Clone(e)
	if err := ws.Solve(ctx, solved, 1); err != nil {
		return 0, err
	}
	k, largest := kernel.NewEvaluator(p.prog), 0.0
	k.Bind(p.theta)
	for i := range e {
		k.Row(row, p.x, i, p.x, 0, n)
		row[i] += p.noise[0]
		largest = max(largest, math.Abs(floats.Dot(row, solved)-e[i]))
	}
	return largest, nil
}

// answers are a backend's results for a problem.
type answers struct {
	logDet, fit, residual     float64
	gradient, mean, reduction []float64
}

func (p *problem) on(ctx context.Context, b device.Backend) (a answers, err error) {
	ws, err := b.NewWorkspace(ctx, p.x)
	if err != nil {
		return a, err
	}
	defer ws.Close()
	n := ws.N()
	alpha, diag := slices.Clone(p.y), make([]float64, n)
	a.gradient, a.mean, a.reduction = make([]float64, p.prog.NumParams), make([]float64, p.xs.N), make([]float64, p.xs.N)
	for _, step := range []func() error{
		func() error { return ws.Form(ctx, p.prog, p.theta, p.noise) },
		func() error { return ws.Solve(ctx, alpha, 1) },
		func() (err error) { a.logDet, _, err = ws.LogDet(); return err },
		func() (err error) { a.residual, err = p.residual(ctx, ws); return err },
		func() error {
			return ws.Contract(ctx, device.Adjoint{Inv: 0.5, Outer: []float64{-0.5}, Vectors: alpha}, p.prog, p.theta, a.gradient, diag)
		},
		func() error { return ws.Predict(ctx, p.prog, p.theta, alpha, p.xs, a.mean, a.reduction) },
	} {
		if err := step(); err != nil {
			return a, err
		}
	}
	for i, v := range p.y {
		a.fit += v * alpha[i]
	}
	return a, nil
}
