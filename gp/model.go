package gp

import (
	"context"
	"errors"
	"fmt"
	"math"

	"gpfit/device"
	"gpfit/kernel"
)

// Model is a fitted model: everything that predictions depend on. Parameters
// are in scaled units (see Scaling), data in original units.
type Model struct {
	// Kernel is the text form; Columns are the positions of the columns in use
	// among FeatureNames, and the labels that parameters are named by.
	Kernel       string   `json:"kernel"`
	Columns      []int    `json:"columns"`
	FeatureNames []string `json:"feature_names"`
	TargetName   string   `json:"target_name"`
	// ParameterNames and Theta are the kernel's parameters, natural values.
	ParameterNames []string  `json:"parameter_names"`
	Theta          []float64 `json:"theta"`
	// NoiseVariance is σ²; Jitter is what had to be added to the diagonal on
	// top of it, 0 unless the user allowed some.
	NoiseVariance float64 `json:"noise_variance"`
	Jitter        float64 `json:"jitter"`
	// MeanConstant and MeanLinear (len(Columns) or none) are the mean function
	// m(x) = MeanConstant + Σ MeanLinear_c x_c.
	MeanConstant float64   `json:"mean_constant"`
	MeanLinear   []float64 `json:"mean_linear,omitempty"`
	Scaling      Scaling   `json:"scaling"`
	// NLML is the objective at these parameters, scaled units.
	NLML float64 `json:"nlml"`
	// Status says how the fit ended.
	Status string `json:"status"`

	// X holds the n×len(Columns) training inputs, row-major, Y the targets,
	// Alpha = Σ⁻¹r in scaled units.
	X     []float64 `json:"-"`
	Y     []float64 `json:"-"`
	Alpha []float64 `json:"-"`
	// factorPath is a model file that holds the Cholesky factor, or "".
	factorPath string
}

// N returns the number of training rows.
func (m *Model) N() int { return len(m.Y) }

// Program compiles the kernel for the columns in use.
func (m *Model) Program() (*kernel.Program, error) {
	expr, err := kernel.Parse(m.Kernel)
	if err != nil {
		return nil, err
	}
	return kernel.Compile(expr, m.Columns)
}

// validate checks that the parts fit together.
func (m *Model) validate() error {
	d := len(m.Columns)
	prog, err := m.Program()
	if err != nil {
		return err
	}
	if err := prog.CheckTheta(m.Theta); err != nil {
		return err
	}
	switch {
	case m.N() == 0 || d == 0 || len(m.X) != m.N()*d || len(m.Alpha) != m.N():
		return fmt.Errorf("%d inputs, %d targets and %d weights for %d columns", len(m.X), len(m.Y), len(m.Alpha), d)
	case len(m.Scaling.XMean) != d || len(m.Scaling.XScale) != d:
		return errors.New("scaling does not fit the columns")
	case len(m.MeanLinear) != 0 && len(m.MeanLinear) != d:
		return errors.New("linear mean does not fit the columns")
	case !(m.NoiseVariance >= 0) || !(m.Jitter >= 0):
		return fmt.Errorf("noise variance %v, jitter %v", m.NoiseVariance, m.Jitter)
	}
	for _, c := range m.Columns {
		if c < 0 || c >= len(m.FeatureNames) {
			return fmt.Errorf("column %d of %d features", c, len(m.FeatureNames))
		}
	}
	return nil
}

// Posterior is a model on a device. It is not safe for concurrent use.
type Posterior struct {
	model *Model
	prog  *kernel.Program
	ws    device.Workspace
}

// Condition forms the posterior on the backend: the factor is read from the
// model's file if it is there, and computed otherwise (n³/3 operations).
func (m *Model) Condition(ctx context.Context, b device.Backend) (*Posterior, error) {
	prog, err := m.Program()
	if err != nil {
		return nil, err
	}
	ws, err := b.NewWorkspace(ctx, kernel.NewPoints(m.Scaling.Inputs(m.X), m.N(), len(m.Columns)))
	if err != nil {
		return nil, err
	}
	p := &Posterior{model: m, prog: prog, ws: ws}
	if m.factorPath != "" {
		err = readFactor(m.factorPath, m.N(), ws)
	} else if err = ws.Fill(ctx, prog, m.Theta, []float64{m.NoiseVariance + m.Jitter}); err == nil {
		err = ws.Factor(ctx)
	}
	if err != nil {
		ws.Close()
		return nil, err
	}
	return p, nil
}

// Attach returns the posterior on a workspace that already holds the factor of
// the model's covariance, such as the one that a fit has just used.
func (m *Model) Attach(ws device.Workspace) (*Posterior, error) {
	prog, err := m.Program()
	if err != nil {
		return nil, err
	}
	if ws.N() != m.N() {
		return nil, fmt.Errorf("gp: workspace for %d points, model of %d", ws.N(), m.N())
	}
	return &Posterior{model: m, prog: prog, ws: ws}, nil
}

// Workspace returns the workspace that holds the factor.
func (p *Posterior) Workspace() device.Workspace { return p.ws }

// Close frees the device's memory.
func (p *Posterior) Close() error { return p.ws.Close() }

// Prediction holds, for each row, numbers in original units.
type Prediction struct {
	// Mean is the posterior mean.
	Mean []float64
	// Std is the standard deviation of a new observation, noise included;
	// StdLatent that of the function without noise.
	Std, StdLatent []float64
	// Lower95 and Upper95 bound the central 95 % interval of a new observation.
	Lower95, Upper95 []float64
}

// z95 is the 97.5 % point of the standard normal distribution.
const z95 = 1.959963984540054

// Predict evaluates the posterior at m rows of features, row-major with one
// column for every name in FeatureNames, in original units.
func (p *Posterior) Predict(ctx context.Context, rows []float64, m int) (*Prediction, error) {
	mod := p.model
	all, d := len(mod.FeatureNames), len(mod.Columns)
	if len(rows) != m*all {
		return nil, fmt.Errorf("gp: %d numbers for %d rows of %d features", len(rows), m, all)
	}
	used := make([]float64, m*d)
	for i := range m {
		for q, c := range mod.Columns {
			used[i*d+q] = rows[i*all+c]
		}
	}
	scaled := mod.Scaling.Inputs(used)
	mean, reduction, prior := make([]float64, m), make([]float64, m), make([]float64, m)
	xs := kernel.NewPoints(scaled, m, d)
	if err := p.ws.Predict(ctx, p.prog, mod.Theta, mod.Alpha, xs, mean, reduction); err != nil {
		return nil, err
	}
	e := kernel.NewEvaluator(p.prog)
	e.Bind(mod.Theta)
	e.Diagonal(prior, xs, 0, m)
	out := &Prediction{Mean: mean, Std: make([]float64, m), StdLatent: make([]float64, m), Lower95: make([]float64, m), Upper95: make([]float64, m)}
	for i := range m {
		mu := mean[i] + mod.MeanConstant
		for q, w := range mod.MeanLinear {
			mu += w * scaled[i*d+q]
		}
		// Rounding can take the difference a little below zero.
		latent := max(prior[i]-reduction[i], 0)
		out.Mean[i] = mu*mod.Scaling.YScale + mod.Scaling.YMean
		out.StdLatent[i] = math.Sqrt(latent) * mod.Scaling.YScale
		out.Std[i] = math.Sqrt(latent+mod.NoiseVariance) * mod.Scaling.YScale
		out.Lower95[i] = out.Mean[i] - z95*out.Std[i]
		out.Upper95[i] = out.Mean[i] + z95*out.Std[i]
	}
	return out, nil
}
