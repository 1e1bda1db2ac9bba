package gp

import (
	"context"
	"fmt"
	"slices"

	"gpfit/internal/suggest"
	"gpfit/kernel"
)

// Process is a Gaussian process with mean 0 and without data: a covariance function
// with a value for each parameter.
type Process struct {
	// NoiseVariance is the noise variance of observations.
	NoiseVariance float64
	program       *kernel.Program
	theta         []float64
}

// NewProcess returns a process without noise for an expression on d columns.
// Parameters have the values in the expression, or 1 if it gives none. Errors are
// [*kernel.CompileError].
func NewProcess(expr kernel.Expr, d int) (*Process, error) {
	prog, err := kernel.Compile(expr, kernel.Columns(d))
	if err != nil {
		return nil, err
	}
	p := &Process{program: prog, theta: make([]float64, prog.NumParams)}
	for _, param := range prog.Params {
		values := p.theta[param.Offset : param.Offset+param.Size]
		for i := range values {
			values[i] = 1
		}
		copy(values, param.Start)
	}
	return p, nil
}

// Parameters returns the names and values of the covariance function's parameters, in
// natural units.
func (p *Process) Parameters() (names []string, values []float64) {
	return p.program.Names(), slices.Clone(p.theta)
}

// Set sets a parameter to a value in natural units. name is noise_variance, an
// element such as lengthscale[2], or a vector such as lengthscale, all of whose
// elements it sets. Errors are [*NameError].
func (p *Process) Set(name string, value float64) error {
	if name == noiseVariance {
		p.NoiseVariance = value
		return nil
	}
	found := false
	for _, param := range p.program.Params {
		for i, element := range param.ElementNames() {
			if element == name || param.Vector && param.Name == name {
				p.theta[param.Offset+i], found = value, true
			}
		}
	}
	if !found {
		known := append(p.program.Names(), noiseVariance)
		return &NameError{name, known, fmt.Sprintf("%s: there is no such parameter%s", name, suggest.DidYouMean(name, known))}
	}
	return nil
}

// Matrix returns the covariances of all pairs of n rows, row-major, whatever they are: they
// need not be finite or symmetric. Errors are [*kernel.CompileError] for an invalid parameter
// value.
func (p *Process) Matrix(rows []float64, n int) ([]float64, error) {
	if err := p.program.CheckTheta(p.theta); err != nil {
		return nil, err
	}
	points, e, out := kernel.NewPoints(rows, n, p.program.D), kernel.NewEvaluator(p.program), make([]float64, n*n)
	e.Bind(p.theta)
	for i := range n {
		e.Row(out[i*n:(i+1)*n], points, i, points, 0, n)
	}
	return out, nil
}

// Joint returns the joint distribution of the values at n rows, row-major, or if
// observed is true, of observations with noise. Errors are [*SizeError], and
// [*kernel.CompileError] for an invalid parameter value.
func (p *Process) Joint(ctx context.Context, rows []float64, n int, observed bool) (*Joint, error) {
	var noise []float64
	if observed {
		noise = slices.Repeat([]float64{p.NoiseVariance}, n)
	}
	return NewPrior(ctx, p.program, p.theta, kernel.NewPoints(rows, n, p.program.D), noise)
}
