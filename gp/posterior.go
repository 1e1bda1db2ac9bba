package gp

import (
	"context"
	"fmt"
	"io"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"gpfit/device"
	"gpfit/internal/score"
	"gpfit/kernel"
	"gpfit/mean"
)

// Posterior is a model conditioned on a device. It is not safe for concurrent use.
// With several targets it predicts the first; see [Posterior.Target].
type Posterior struct {
	// whole is the model with all targets, model the model of one of them.
	whole, model *Model
	prog         *kernel.Program
	ws           device.Workspace
	// The first prediction that needs gls and solved = Σ⁻¹H computes them.
	gls    *mean.GLS
	solved []float64
	// locals are the posteriors of experts with parameters of their own; nil without. Only
	// they use ws then.
	locals *locals
}

// Condition forms the posterior on the backend. It reads the factor from the
// model's file, if the file has one and the method uses one, and computes it
// otherwise (n³/3 operations).
func (m *Model) Condition(ctx context.Context, b device.Backend) (*Posterior, error) {
	prog, ws, err := newWorkspace(ctx, m, b)
	if err != nil {
		return nil, err
	}
	p := &Posterior{whole: m, model: m.Target(0), prog: prog, ws: ws}
	if m.Locals != nil {
		p.locals, err = m.conditionLocals(ctx, ws, prog)
	} else {
		err = formWorkspace(ctx, m, ws, prog)
	}
	if err != nil {
		ws.Close()
		return nil, err
	}
	return p, nil
}

// supported returns the model's program unless a backend cannot evaluate it.
func supported(m *Model, b device.Backend) (*kernel.Program, error) {
	prog, err := m.Program()
	if err != nil {
		return nil, err
	}
	return prog, b.Supports(device.Workload{N: m.N(), D: len(m.Columns), Program: prog})
}

// newWorkspace returns the model's program, and a workspace for its training rows.
func newWorkspace(ctx context.Context, m *Model, b device.Backend) (*kernel.Program, device.Workspace, error) {
	prog, err := supported(m, b)
	if err != nil {
		return nil, nil, err
	}
	ws, err := m.Backend(b).NewWorkspace(ctx, trainingPoints(m))
	return prog, ws, err
}

// formWorkspace prepares a workspace for predictions.
func formWorkspace(ctx context.Context, m *Model, ws device.Workspace, prog *kernel.Program) error {
	if factor, ok := ws.(device.FactorStore); ok && m.factorPath != "" {
		return readFactor(m.factorPath, m.N(), factor)
	}
	return ws.Form(ctx, prog, m.Theta, noiseDiagonal(m))
}

// Attach returns the posterior on a workspace that already holds the factor of the
// model's covariance, such as the workspace of a fit. A model of experts with parameters of
// their own has no such workspace.
func (m *Model) Attach(ws device.Workspace) (*Posterior, error) {
	prog, err := m.Program()
	if err != nil {
		return nil, err
	}
	if ws.N() != m.N() {
		return nil, fmt.Errorf("gp: workspace for %d points, model of %d", ws.N(), m.N())
	}
	return &Posterior{whole: m, model: m.Target(0), prog: prog, ws: ws}, nil
}

// Model returns the posterior's model, or the model of its target if it is the
// posterior of a single one.
func (p *Posterior) Model() *Model { return p.model }

// Whole returns the model with all its targets.
func (p *Posterior) Whole() *Model { return p.whole }

// Workspace returns the workspace that holds the factor.
func (p *Posterior) Workspace() device.Workspace { return p.ws }

// Close frees the device's memory.
func (p *Posterior) Close() error { return p.ws.Close() }

// SaveWithFactor writes the model together with the Cholesky factor, 8n² bytes,
// so that a later Condition need not compute it.
//
// Errors are [*FileError], and [*device.UnsupportedError] if the posterior's method
// has no factor.
func (p *Posterior) SaveWithFactor(path string) error { return save(path, p.WriteWithFactor) }

// WriteWithFactor writes the model with the Cholesky factor in the format of a
// model file.
func (p *Posterior) WriteWithFactor(w io.Writer) error {
	factor, err := device.Capability[device.FactorStore](p.ws, "the Cholesky factor for a model file")
	if err != nil {
		return err
	}
	return writeValid(p.whole, w, factor)
}

// Prediction holds, for each row, numbers in original units.
type Prediction struct {
	// Mean is the posterior mean.
	Mean []float64
	// Std is the standard deviation of a new observation, including noise;
	// StdLatent is the standard deviation of the function without noise.
	Std, StdLatent []float64
	// Lower95 and Upper95 bound the central 95 % interval of a new observation.
	Lower95, Upper95 []float64
	// Parts are the components of a mixture, of equal weight; nil for a normal
	// distribution.
	Parts []*Prediction
}

// Predict evaluates the posterior at m rows of features, row-major with one column
// for every name in FeatureNames, in original units: Rasmussen & Williams (2006),
// eq. 2.25 and 2.26, or 2.41 and 2.42 if least squares found the mean's
// coefficients. For rows with known noise, see [Posterior.PredictNoise].
func (p *Posterior) Predict(ctx context.Context, rows []float64, m int) (*Prediction, error) {
	return p.PredictNoise(ctx, rows, m, RowNoise{})
}

// PredictNoise is like Predict for rows with known noise, which affects Std and the
// intervals. Errors are [*ShapeError], [*NoiseError], [*RangeError] and
// [*device.MemoryError].
func (p *Posterior) PredictNoise(ctx context.Context, rows []float64, m int, row RowNoise) (*Prediction, error) {
	out, err := predictWith(ctx, p, rows, m, row, []*Model{p.model})
	if err != nil {
		return nil, err
	}
	return out[0], nil
}

// PredictTargets is like [Posterior.PredictNoise] for all targets, in one pass.
func (p *Posterior) PredictTargets(ctx context.Context, rows []float64, m int, row RowNoise) ([]*Prediction, error) {
	targets := make([]*Model, p.whole.T())
	for t := range targets {
		targets[t] = p.whole.Target(t)
	}
	return predictWith(ctx, p, rows, m, row, targets)
}

// predictWith predicts targets of the model: all of them, or p.model alone.
func predictWith(ctx context.Context, p *Posterior, rows []float64, m int, row RowNoise, targets []*Model) ([]*Prediction, error) {
	scaled, err := scaledRows(p.model, rows, m)
	if err != nil {
		return nil, err
	}
	noise, err := noisesOf(p.model, m, row)
	if err != nil {
		return nil, err
	}
	var means [][]float64
	var latent []float64
	if p.locals != nil {
		var own []int
		if means, latent, own, err = p.predictLocals(ctx, scaled, m, len(targets)); err == nil {
			err = p.locals.noises(noise, own, row)
		}
	} else {
		means, latent, err = predictFunction(ctx, p, scaled, m, targets)
	}
	if err != nil {
		return nil, err
	}
	var out []*Prediction
	for t, mod := range targets {
		p := newPrediction(mod.Scaling, means[t], latent, noise)
		if err := checkResult("prediction", m, p.Mean, p.Std, p.StdLatent, p.Lower95, p.Upper95); err != nil {
			return nil, err
		}
		out = append(out, p)
	}
	return out, nil
}

// predictFunction returns the mean of each target and the variance of the function at m
// scaled rows. The targets differ only in means and units.
func predictFunction(ctx context.Context, p *Posterior, scaled []float64, m int, targets []*Model) (means [][]float64, latent []float64, err error) {
	var alpha []float64
	for _, mod := range targets {
		alpha = append(alpha, mod.Alpha...)
	}
	sums, reduction := make([]float64, m*len(targets)), make([]float64, m)
	xs := kernel.NewPoints(scaled, m, len(p.model.Columns))
	if err := p.ws.Predict(ctx, p.prog, p.model.Theta, alpha, xs, sums, reduction); err != nil {
		return nil, nil, err
	}
	if latent, err = priorVariance(ctx, p, p.prog, p.model.Theta, xs, true); err != nil {
		return nil, nil, err
	}
	for i, v := range reduction {
		// Rounding can make the difference slightly negative.
		latent[i] = max(latent[i]-v, 0)
	}
	for t, mod := range targets {
		mean := meanValues(mod, scaled, m)
		floats.Add(mean, sums[t*m:(t+1)*m])
		means = append(means, mean)
	}
	return means, latent, nil
}

// newPrediction converts means and variances to original units.
func newPrediction(s Scaling, mean, latent, noise []float64) *Prediction {
	m := len(mean)
	out := &Prediction{Mean: mean, Std: make([]float64, m), StdLatent: make([]float64, m), Lower95: make([]float64, m), Upper95: make([]float64, m)}
	for i := range m {
		out.Mean[i] = mean[i]*s.YScale + s.YMean
		out.StdLatent[i] = math.Sqrt(latent[i]) * s.YScale
		out.Std[i] = math.Sqrt(latent[i]+noise[i]) * s.YScale
		out.Lower95[i] = out.Mean[i] - score.Z95*out.Std[i]
		out.Upper95[i] = out.Mean[i] + score.Z95*out.Std[i]
	}
	return out
}

// priorVariance returns the variances at xs before the data reduces them: k(x*, x*)
// for prog, plus the variance due to the mean's coefficients (see meanUncertainty).
func priorVariance(ctx context.Context, p *Posterior, prog *kernel.Program, theta []float64, xs *kernel.Points, withMean bool) ([]float64, error) {
	variance := make([]float64, xs.N)
	e := kernel.NewEvaluator(prog)
	e.Bind(theta)
	e.Diagonal(variance, xs, 0, xs.N)
	w, err := meanUncertainty(ctx, p, prog, theta, xs, withMean)
	q := len(p.model.Mean.Basis)
	for i := range w {
		variance[i/q] += w[i] * w[i]
	}
	return variance, err
}

// Density returns the predictive density of a new observation at row i.
func (p *Prediction) Density(i int) score.Predictive {
	if p.Parts == nil {
		return score.Predictive{{Mean: p.Mean[i], Std: p.Std[i]}}
	}
	d := make(score.Predictive, len(p.Parts))
	for k, part := range p.Parts {
		d[k] = score.Normal{Mean: part.Mean[i], Std: part.Std[i]}
	}
	return d
}

// Interval returns the bounds of the central interval that holds a new
// observation with the given probability (between 0 and 1).
func (p *Prediction) Interval(probability float64) (lower, upper []float64) {
	lower, upper = make([]float64, len(p.Mean)), make([]float64, len(p.Mean))
	for i := range p.Mean {
		lower[i], upper[i] = p.Density(i).Interval(probability)
	}
	return lower, upper
}

// Target returns the posterior of the target t alone, on the same workspace.
func (p *Posterior) Target(t int) *Posterior {
	one := *p
	one.model, one.locals = p.whole.Target(t), p.locals.target(t)
	return &one
}

// meanUncertainty returns the part of the posterior covariance at the scaled points
// xs that is due to the uncertainty of the mean's coefficients. It returns a q×m
// matrix; the covariance of points i and j is the product of its columns i and j.
// The matrix is nil if least squares did not find the coefficients. This is RᵀM⁻¹R
// of Rasmussen & Williams (2006), eq. 2.42, with R = H* − HᵀΣ⁻¹K* and M = HᵀΣ⁻¹H,
// for a vague prior on β (universal kriging). K* is the covariance of prog, which
// is the model's kernel or one of its terms; without withMean, H* is omitted. The
// cost is 2nqm flops and the kernel at m×n pairs.
func meanUncertainty(ctx context.Context, p *Posterior, prog *kernel.Program, theta []float64, xs *kernel.Points, withMean bool) ([]float64, error) {
	mod := p.model
	q := len(mod.Mean.Basis)
	if !mod.Mean.LeastSquares || q == 0 {
		return nil, nil
	}
	if err := p.leastSquares(ctx); err != nil {
		return nil, err
	}
	m := xs.N
	part, w := make([]float64, m*q), make([]float64, q*m)
	if err := p.ws.Predict(ctx, prog, theta, p.solved, xs, part, nil); err != nil {
		return nil, err
	}
	for j, f := range mod.Mean.Basis {
		for i, x := range xs.Column(f.Column) {
			w[i*q+j] = -part[j*m+i]
			if withMean {
				w[i*q+j] += f.At(x)
			}
		}
	}
	p.gls.Whiten(w)
	return w, nil
}

// leastSquares solves for Σ⁻¹H and forms M, on the first call only.
func (p *Posterior) leastSquares(ctx context.Context) error {
	if p.gls != nil {
		return nil
	}
	mod := p.whole
	h := mod.Mean.Basis.Evaluate(trainingPoints(mod))
	solved := slices.Clone(h)
	if err := p.ws.Solve(ctx, solved, len(mod.Mean.Basis)); err != nil {
		return err
	}
	gls, err := mean.NewGLS(h, solved, mod.N())
	if err != nil {
		return err
	}
	p.gls, p.solved = gls, solved
	return nil
}
