package main

import (
	"context"
	"math"

	"gpfit/device"
	"gpfit/internal/bench"
	"gpfit/kernel"
)

// The parameters of stages, residual and largest. They equal those of
// benchmarks/peers and give a well-conditioned covariance matrix, as in the middle
// of a fit.
const (
	lengthscale    = 2.0
	signalVariance = 1.5
	noiseVariance  = 0.1
)

// likelihood is a likelihood on synthetic data, without scaling.
type likelihood struct {
	x     *kernel.Points
	y     []float64
	prog  *kernel.Program
	theta []float64
	noise []float64
}

func (j *job) problem(n int) (*likelihood, error) {
	expr, err := kernel.Parse(j.kernel)
	if err != nil {
		return nil, err
	}
	prog, err := kernel.Compile(expr, kernel.Columns(j.d))
	if err != nil {
		return nil, err
	}
	data := bench.Synthetic(n, j.d, j.seed)
	p := &likelihood{x: kernel.NewPoints(data.X, n, j.d), y: data.Y, prog: prog, noise: []float64{noiseVariance}}
	p.theta = make([]float64, prog.NumParams)
	for _, param := range prog.Params {
		for i := range param.Size {
			p.theta[param.Offset+i] = lengthscale
			if param.Kind == kernel.Variance {
				p.theta[param.Offset+i] = signalVariance
			}
		}
	}
	return p, nil
}

// workspace returns a workspace of the exact method, whose steps are measured
// separately.
func (j *job) workspace(p *likelihood) (device.DenseWorkspace, error) {
	w, err := j.b.NewWorkspace(j.ctx, p.x)
	if err != nil {
		return nil, err
	}
	steps, err := device.Capability[device.DenseWorkspace](w, "the steps of a factorisation")
	if err != nil {
		_ = w.Close()
	}
	return steps, err
}

// form prepares w for solving.
func (p *likelihood) form(ctx context.Context, w device.Workspace) error {
	return w.Form(ctx, p.prog, p.theta, p.noise)
}

// solve returns the NLML and α after form.
func (p *likelihood) solve(ctx context.Context, w device.Workspace) (nlml float64, alpha []float64, err error) {
	alpha = append([]float64(nil), p.y...)
	if err := w.Solve(ctx, alpha, 1); err != nil {
		return 0, nil, err
	}
	logDet, _, err := w.LogDet()
	if err != nil {
		return 0, nil, err
	}
	nlml = (logDet + float64(p.x.N)*math.Log(2*math.Pi)) / 2
	for i, a := range alpha {
		nlml += a * p.y[i] / 2
	}
	return nlml, alpha, nil
}

// gradient returns the derivatives of the NLML by the logarithms of the kernel's
// parameters and of the noise variance, by name.
func (p *likelihood) gradient(ctx context.Context, w device.Workspace, alpha []float64) (map[string]float64, error) {
	grad, diag := make([]float64, len(p.theta)), make([]float64, p.x.N)
	if err := w.Contract(ctx, device.Adjoint{Inv: 0.5, Outer: []float64{-0.5}, Vectors: alpha}, p.prog, p.theta, grad, diag); err != nil {
		return nil, err
	}
	named := map[string]float64{}
	for i, name := range p.prog.Names() {
		named[name] = grad[i]
	}
	sum := 0.0
	for _, v := range diag {
		sum += v
	}
	named["noise_variance"] = sum * noiseVariance
	return named, nil
}
