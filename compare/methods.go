package compare

import (
	"context"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"gpfit/device"
	"gpfit/fit"
	"gpfit/fit/problem"
	"gpfit/gp"
	"gpfit/hyperopt"
	"gpfit/internal/baseline"
	"gpfit/internal/hostmem"
	"gpfit/internal/score"
	"gpfit/internal/suggest"
	"gpfit/internal/team"
	"gpfit/internal/textform"
	"gpfit/internal/tuning"
	"gpfit/kernel"
)

// processName is the name of the Gaussian process in Options.Methods.
const processName = "gp"

// regressions returns the methods beside the Gaussian process, the simplest first. The seed
// is for methods that draw folds.
func regressions(seed uint64) []NamedMethod {
	return []NamedMethod{
		{"mean", averaging{}},
		{"ridge", baseline.Ridge{}},
		{"bayesian-linear", baseline.BayesianLinear{}},
		{"lasso", baseline.Lasso{Seed: seed}},
		{"spline", baseline.Spline{}},
		{"polynomial", baseline.Basis{Expansion: baseline.Polynomial{}}},
		{"gaussians", baseline.Basis{Expansion: baseline.Gaussians{}}},
		{"kernel-ridge", baseline.KernelRidge{}},
	}
}

// Methods returns the names of all methods, the simplest first.
func Methods() []string {
	var names []string
	for _, m := range regressions(0) {
		names = append(names, m.Name)
	}
	return append(names, processName)
}

// CheckMethod returns an error unless a method has the name.
func CheckMethod(name string) error {
	if all := Methods(); !slices.Contains(all, name) {
		return optionError("methods", textform.Quote(name), "must be some of %v%s", all, suggest.DidYouMean(name, all))
	}
	return nil
}

// averaging predicts the mean of the training targets, with their variance: the least that a
// method must beat.
type averaging struct{}

// Fit implements [baseline.Method].
func (averaging) Fit(_ mat.Matrix, y []float64) (baseline.Model, error) {
	n, m := float64(len(y)), average{}
	for _, v := range y {
		m.mean += v / n
	}
	for _, v := range y {
		m.variance += (v - m.mean) * (v - m.mean) / (n - 1)
	}
	m.variance *= 1 + 1/n
	return m, nil
}

// average is a normal distribution that does not depend on the inputs.
type average struct{ mean, variance float64 }

// Predict implements [baseline.Model].
func (a average) Predict(x mat.Matrix) (baseline.Prediction, error) {
	n, _ := x.Dims()
	return baseline.Prediction{Mean: slices.Repeat([]float64{a.mean}, n), Variance: slices.Repeat([]float64{a.variance}, n)}, nil
}

// entrant is a method in the comparison.
type entrant struct {
	name string
	// option is the option that names it.
	option string
	// fit learns from the training rows of data, which scaled holds, too.
	fit func(ctx context.Context, data problem.Data, scaled *problem.ScaledRows) (*fitted, error)
	// stages describes the fit for the progress; nil without stages.
	stages func(data problem.Data) []hyperopt.Expectation
}

// fitted is a fitted method. predict predicts m rows with all features, in original units.
type fitted struct {
	// predict returns predictions of new targets in original units; Std and bounds are nil without a
	// density.
	predict    func(ctx context.Context, rows []float64, m int, noise gp.RowNoise) (*gp.Prediction, error)
	warnings   []string
	parameters map[string]float64
	close      func()
}

// regression enters a baseline. Its fit does not wait for a method that ctx ends, because
// methods know no contexts.
func regression(m NamedMethod) entrant {
	return entrant{name: m.Name, option: "methods", fit: func(ctx context.Context, _ problem.Data, scaled *problem.ScaledRows) (*fitted, error) {
		if _, ok := m.Method.(baseline.KernelRidge); ok {
			if err := checkMatrices(scaled.N, hostmem.Free()); err != nil {
				return nil, err
			}
		}
		x := mat.NewDense(scaled.N, scaled.D, scaled.X)
		model, err := team.Await(ctx, func() (baseline.Model, error) { return m.Method.Fit(x, scaled.Y) })
		if err != nil {
			return nil, err
		}
		return &fitted{
			predict: func(ctx context.Context, rows []float64, m int, _ gp.RowNoise) (*gp.Prediction, error) {
				return predictWith(ctx, model, scaled, mat.NewDense(m, scaled.D, scaled.Inputs(rows)))
			},
			parameters: chosen(model), close: func() {},
		}, nil
	}}
}

// checkMatrices returns an error if the two n×n matrices of kernel ridge regression need more
// than the free bytes; 0 means that these are unknown.
func checkMatrices(n int, free int64) error {
	if need := 16 * int64(n) * int64(n); free > 0 && need > free {
		return fmt.Errorf("two matrices of %d × %d take %s, and %s are free; option subsample takes fewer rows, and option methods leaves the method out", n, n, device.FormatBytes(need), device.FormatBytes(free))
	}
	return nil
}

// predictWith predicts scaled rows by a model, in original units.
func predictWith(ctx context.Context, model baseline.Model, scaled *problem.ScaledRows, x *mat.Dense) (*gp.Prediction, error) {
	p, err := team.Await(ctx, func() (baseline.Prediction, error) { return model.Predict(x) })
	if err != nil {
		return nil, err
	}
	m, _ := x.Dims()
	if len(p.Mean) != m || p.Variance != nil && len(p.Variance) != m {
		return nil, fmt.Errorf("%d means and %d variances for %d rows", len(p.Mean), len(p.Variance), m)
	}
	out, scaling := &gp.Prediction{Mean: make([]float64, m)}, scaled.Scaling
	for i, v := range p.Mean {
		out.Mean[i] = scaling.YMean + v*scaling.YScale
	}
	for i, v := range p.Variance {
		std := math.Sqrt(v) * scaling.YScale
		out.Std = append(out.Std, std)
		out.Lower95, out.Upper95 = append(out.Lower95, out.Mean[i]-score.Z95*std), append(out.Upper95, out.Mean[i]+score.Z95*std)
	}
	return out, nil
}

// chosen returns what the methods of package baseline choose.
func chosen(model baseline.Model) map[string]float64 {
	if m, ok := model.(*baseline.BasisModel); ok {
		model = m.BayesianModel
	}
	switch m := model.(type) {
	case *baseline.LinearModel:
		return map[string]float64{"lambda": m.Lambda}
	case *baseline.LassoModel:
		return map[string]float64{"lambda": m.Lambda}
	case *baseline.BayesianModel:
		return map[string]float64{"noise_variance": m.Noise, "prior_scale": m.PriorScale}
	case *baseline.SplineModel:
		return map[string]float64{"lambda": m.Lambda}
	case *baseline.KernelModel:
		return map[string]float64{"lambda": m.Lambda, "width": m.Width}
	}
	return nil
}

// process is a Gaussian process with one kernel in the comparison. prepare makes the job of
// the training rows of data.
type process struct {
	prepare  func(data problem.Data) (*tuning.Job, error)
	backends []device.Backend
}

// newProcess enters the Gaussian process with a kernel, which it prepares on data to find mistakes.
func newProcess(text string, o problem.Options, events problem.Events, data problem.Data, backends []device.Backend) (entrant, error) {
	label := problem.AutoKernel
	if o.Kernel = text; !o.Auto() {
		e, err := kernel.Parser{Families: o.Kernels, Columns: data.FeatureNames}.Parse(text)
		if err != nil {
			return entrant{}, err
		}
		if o.ARD {
			e = kernel.WithARD(e)
		}
		o.Kernel, label = e.String(), kernel.Text(e, data.FeatureNames)
	}
	o.ARD, o.HoldOut, o.Blocks = false, 0, false
	o.DiscardCancelled, o.Checkpoint = true, ""
	p := process{func(data problem.Data) (*tuning.Job, error) { return fit.Prepare(data, o, events) }, backends}
	if _, err := p.prepare(data); err != nil {
		return entrant{}, fmt.Errorf("kernel %s: %w", label, err)
	}
	return entrant{processName + " " + label, "kernel", p.fit, p.stages}, nil
}

// stages describes the fit for the progress; nil if it cannot begin.
func (p process) stages(data problem.Data) []hyperopt.Expectation {
	job, err := p.prepare(data)
	if err != nil {
		return nil // the fit says why
	}
	return job.Expected()
}

func (p process) fit(ctx context.Context, data problem.Data, _ *problem.ScaledRows) (*fitted, error) {
	job, err := p.prepare(data)
	if err != nil {
		return nil, err
	}
	outcome, err := fit.Run(ctx, job, p.backends...)
	if err != nil {
		if outcome != nil {
			outcome.Close()
		}
		return nil, err
	}
	predict := func(ctx context.Context, rows []float64, m int, noise gp.RowNoise) (*gp.Prediction, error) {
		parts, err := gp.Predict(ctx, outcome.Posterior(), rows, m, noise)
		if err != nil {
			return nil, err
		}
		return parts[0], nil
	}
	return &fitted{predict, outcome.Report.Warnings, outcome.Report.Parameters, outcome.Close}, nil
}
