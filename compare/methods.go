package compare

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"

	"gonum.org/v1/gonum/mat"

	"gpfit/compare/baseline"
	"gpfit/compare/companion"
	"gpfit/device"
	"gpfit/fit"
	"gpfit/fit/problem"
	"gpfit/fit/tuning"
	"gpfit/gp"
	"gpfit/internal/hostmem"
	"gpfit/internal/suggest"
	"gpfit/internal/textform"
	"gpfit/internal/workers"
	"gpfit/kernel"
)

// processName is the name of the Gaussian process in Options.Methods.
const processName = "gp"

// regressions returns the methods besides the Gaussian process, the simplest first. The seed
// is for methods that draw folds. Penalties act on columns as the table's scaling leaves them.
func (o Options) regressions(seed uint64, how gp.Standardize) []NamedMethod {
	design := baseline.Design{Unscaled: how == gp.StandardizeNone || how == gp.StandardizeY}
	spline := baseline.Spline{Design: design, Kind: o.Spline, Lambdas: o.penalties("spline")}
	return []NamedMethod{
		{"mean", baseline.Averaging{}},
		{"ridge", baseline.Ridge{Design: design, Lambdas: o.penalties("ridge")}},
		{"bayesian-linear", baseline.BayesianLinear{Design: design}},
		{"lasso", baseline.Lasso{Design: design, Lambdas: o.penalties("lasso"), Seed: seed}},
		{"spline", knotted{spline, o.Knots}},
		{"polynomial", baseline.Basis{Expansion: baseline.Polynomial{}}},
		{"gaussians", baseline.Basis{Expansion: baseline.Gaussians{}}},
		{"kernel-ridge", baseline.KernelRidge{}},
	}
}

// penalized are the methods with one penalty.
var penalized = []string{"ridge", "lasso", "spline"}

// penalties returns the penalties that the options give a method, nil for its own choice.
func (o Options) penalties(method string) (lambdas []float64) {
	for _, p := range o.Penalties {
		if p.Name == method {
			lambdas = append(lambdas, p.Value)
		}
	}
	return lambdas
}

// checkMethods returns an error for settings of methods that do not suit them or the table.
func (o Options) checkMethods(d int) error {
	for _, p := range o.Penalties {
		switch {
		case !slices.Contains(penalized, p.Name):
			return optionError("lambda", p.Name, "must name one of %v%s", penalized, suggest.DidYouMean(p.Name, penalized))
		case o.Methods != nil && !slices.Contains(o.Methods, p.Name):
			return optionError("lambda", p.Name, "is a method that option methods leaves out")
		case !(p.Value >= 0) || math.IsInf(p.Value, 0):
			return optionError("lambda", fmt.Sprintf("%s=%v", p.Name, p.Value), "must be a number, 0 or more")
		}
	}
	if kinds := baseline.SplineKinds(); o.Spline != "" && !slices.Contains(kinds, o.Spline) {
		return optionError("spline", strconv.Quote(string(o.Spline)), "must be one of %v", kinds)
	}
	if o.Knots != nil && d != 1 {
		return optionError("knots", "", "are of one column, but the table has %d; choose one with option features", d)
	}
	return nil
}

// Methods returns the names of all methods, the simplest first.
func Methods() []string {
	var names []string
	for _, m := range (Options{}).regressions(0, "") {
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

// entrant is a method in the comparison.
type entrant struct {
	name string
	// option is the option that names it, and kernel the index of a process's kernel.
	option string
	kernel int
	// fit learns from the training rows of data, which scaled holds, too.
	fit func(ctx context.Context, data problem.Data, scaled *problem.ScaledRows) (*fitted, error)
}

// fitted is a fitted method. It predicts m rows with all features, in original units.
type fitted struct {
	// predict returns predictions of new targets; Std and bounds are nil without a density.
	predict func(ctx context.Context, rows []float64, m int, noise gp.RowNoise) (*gp.Prediction, error)
	// learned returns the means at the rows that the method learned from.
	learned func(ctx context.Context, rows problem.Data) ([]float64, error)
	// keep returns what can be written to a file.
	keep       func() (*Fitted, error)
	warnings   []string
	parameters map[string]float64
	close      func()
}

// regression enters a baseline. Its fit does not wait for a method that ctx ends, because
// methods know no contexts.
func regression(m NamedMethod) entrant {
	return entrant{name: m.Name, option: "methods", fit: func(ctx context.Context, data problem.Data, scaled *problem.ScaledRows) (*fitted, error) {
		if _, ok := m.Method.(baseline.KernelRidge); ok {
			if err := checkMatrix(scaled.N, hostmem.Free()); err != nil {
				return nil, err
			}
		}
		x, method := mat.NewDense(scaled.N, scaled.D, scaled.X), m.of(scaled)
		model, err := workers.Await(ctx, func() (baseline.Model, error) { return method.Fit(x, scaled.Y) })
		if err != nil {
			return nil, err
		}
		predict := func(ctx context.Context, rows []float64, m int, _ gp.RowNoise) (*gp.Prediction, error) {
			x := mat.NewDense(m, scaled.D, scaled.Inputs(rows))
			return workers.Await(ctx, func() (*gp.Prediction, error) { return companion.Predict(model, scaled.Scaling, x) })
		}
		return &fitted{
			predict: predict,
			learned: func(ctx context.Context, rows problem.Data) ([]float64, error) {
				p, err := predict(ctx, rows.X, rows.N, gp.RowNoise{})
				if err != nil {
					return nil, err
				}
				return p.Mean, nil
			},
			keep: func() (*Fitted, error) {
				like := &gp.Model{FeatureNames: data.FeatureNames, TargetName: data.TargetName, Encoding: data.Encoding, Columns: scaled.Columns, Scaling: scaled.Scaling}
				f, err := companion.New(m.Name, model, scaled.N, like, chosen(model))
				return &Fitted{Method: m.Name, Regression: f}, err
			},
			parameters: chosen(model), close: func() {},
		}, nil
	}}
}

// knotted is a spline with knots in units of the column, or nil.
type knotted struct {
	baseline.Spline
	knots []float64
}

// of returns the method for scaled rows.
func (m NamedMethod) of(scaled *problem.ScaledRows) baseline.Method {
	k, ok := m.Method.(knotted)
	if !ok {
		return m.Method
	}
	if k.knots != nil {
		k.Spline.Knots = [][]float64{scaled.Inputs(k.knots)}
	}
	return k.Spline
}

// checkMatrix returns an error if the n×n matrix of kernel ridge regression needs more
// than the free bytes; 0 means that these are unknown.
func checkMatrix(n int, free int64) error {
	if need := 8 * int64(n) * int64(n); free > 0 && need > free {
		return fmt.Errorf("a matrix of %d × %d takes %s, and %s are free; option subsample takes fewer rows, and option methods leaves the method out", n, n, device.FormatBytes(need), device.FormatBytes(free))
	}
	return nil
}

// chosen returns the parameters that a fit chose, nil for a model that has none.
func chosen(model baseline.Model) map[string]float64 {
	if m, ok := model.(baseline.Tuned); ok {
		return m.Parameters()
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
	return entrant{name: processName + " " + label, option: "kernel", fit: p.fit}, nil
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
	learned := func(ctx context.Context, rows problem.Data) ([]float64, error) {
		if means := smoothed(outcome.Model, rows); means != nil {
			return means, nil
		}
		p, err := predict(ctx, rows.X, rows.N, gp.RowNoise{Known: rows.NoiseVariance, Group: rows.NoiseGroup})
		if err != nil {
			return nil, err
		}
		return p.Mean, nil
	}
	keep := func() (*Fitted, error) { return &Fitted{Process: outcome}, nil }
	return &fitted{predict, learned, keep, outcome.Report.Warnings, outcome.Report.Parameters, outcome.Close}, nil
}

// smoothed returns the posterior means at the training rows of a model, y − Dα for the noise variances D (from
// RW, eq. 2.25: Kα = y − Dα), in original units. It is nil for models whose means are others.
func smoothed(m *gp.Model, rows problem.Data) []float64 {
	if m.State.Method != "" || m.Scaling.Transform != nil || len(m.Targets) > 0 || !slices.Equal(m.Y, rows.Y) {
		return nil
	}
	out := slices.Clone(m.Y)
	for i, a := range m.Alpha {
		variance := m.NoiseVariance
		if m.TrainNoise != nil {
			variance = m.TrainNoise[i]
		}
		out[i] -= m.Scaling.YScale * (variance + m.Jitter) * a
	}
	return out
}
