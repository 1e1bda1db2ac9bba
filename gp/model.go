package gp

import (
	"context"
	"errors"
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"

	"gpfit/device"
	"gpfit/kernel"
	"gpfit/mean"
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
	// Targets are there if several share X, kernel and noise; the fields of a
	// single target, TargetName, Mean.Coefficients and the target's part of
	// Scaling, are then those of the first. See [Model.Target].
	Targets []Target `json:"targets,omitempty"`
	// ParameterNames and Theta are the kernel's parameters, natural values.
	ParameterNames []string  `json:"parameter_names"`
	Theta          []float64 `json:"theta"`
	// NoiseVariance is the estimated σ², 0 if there is none or if groups have
	// one each; Noise says what differs from row to row. Jitter is what had to
	// be added to the diagonal on top, 0 unless the user allowed some.
	NoiseVariance float64 `json:"noise_variance"`
	Noise         Noise   `json:"noise,omitzero"`
	Jitter        float64 `json:"jitter"`
	Mean          Mean    `json:"mean"`
	Scaling       Scaling `json:"scaling"`
	// NLML is the objective at these parameters, scaled units.
	NLML float64 `json:"nlml"`
	// Status says how the fit ended.
	Status string `json:"status"`

	// X holds the n×len(Columns) training inputs, row-major, Y the targets,
	// n×T column-major, Alpha = Σ⁻¹r in scaled units, likewise.
	X     []float64 `json:"-"`
	Y     []float64 `json:"-"`
	Alpha []float64 `json:"-"`
	// TrainNoise are the n noise variances of the training rows, scaled units;
	// nil if that is NoiseVariance for all of them.
	TrainNoise []float64 `json:"-"`
	// Rows are the numbers of the training rows in the table they came from, from
	// 0; nil if they are all of its rows. Whole numbers, as NumPy's float64.
	Rows []float64 `json:"-"`
	// Kernels are kernels of the user's own that Kernel names; a model file holds
	// only the name.
	Kernels []*kernel.Family `json:"-"`
	// factorPath is a model file that holds the Cholesky factor, or "".
	factorPath string
}

// N returns the number of training rows.
func (m *Model) N() int { return len(m.Y) / m.T() }

// Row returns the number of the training row i in the table it came from, from 0.
func (m *Model) Row(i int) int {
	if m.Rows == nil {
		return i
	}
	return int(m.Rows[i])
}

// Parameters returns the parameters by name, natural values in scaled units: those of
// the kernel, the estimated noise variances, and of an only target the coefficients of
// the mean.
func (m *Model) Parameters() map[string]float64 {
	out := map[string]float64{}
	for i, name := range m.ParameterNames {
		out[name] = m.Theta[i]
	}
	if m.NoiseVariance > 0 {
		out[noiseVariance] = m.NoiseVariance
	}
	for i, label := range m.Noise.Labels {
		out[noiseVariance+"["+label+"]"] = m.Noise.Variances[i]
	}
	if len(m.Targets) == 0 {
		for i, f := range m.Mean.Basis {
			out[f.Name()] = m.Mean.Coefficients[i]
		}
	}
	return out
}

// Program compiles the kernel for the columns in use.
func (m *Model) Program() (*kernel.Program, error) {
	expr, err := m.expr()
	if err != nil {
		return nil, err
	}
	return kernel.Compile(expr, m.Columns)
}

func (m *Model) expr() (kernel.Expr, error) {
	return kernel.Parser{Families: m.Kernels}.Parse(m.Kernel)
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
	case m.N() == 0 || d == 0 || len(m.Y)%m.T() != 0 || len(m.X) != m.N()*d || len(m.Alpha) != len(m.Y):
		return fmt.Errorf("%d inputs, %d targets and %d weights for %d columns", len(m.X), len(m.Y), len(m.Alpha), d)
	case len(m.Scaling.XMean) != d || len(m.Scaling.XScale) != d:
		return errors.New("scaling does not fit the columns")
	case m.TrainNoise != nil && len(m.TrainNoise) != m.N() || m.TrainNoise == nil && (m.Noise.Column != "" || len(m.Noise.Labels) > 0):
		return fmt.Errorf("noise variances of %d training rows, there are %d", len(m.TrainNoise), m.N())
	case !(m.NoiseVariance >= 0) || !(m.Jitter >= 0):
		return fmt.Errorf("noise variance %v, jitter %v", m.NoiseVariance, m.Jitter)
	}
	if m.Rows != nil && len(m.Rows) != m.N() {
		return fmt.Errorf("numbers of %d training rows, there are %d", len(m.Rows), m.N())
	}
	for i, v := range m.TrainNoise {
		if !(v >= 0) {
			return fmt.Errorf("noise variance %v of training row %d", v, i)
		}
	}
	if err := errors.Join(m.validateNumbers(), m.Mean.validate(d), m.Noise.validate(), m.validateTargets()); err != nil {
		return err
	}
	for _, c := range m.Columns {
		if c < 0 || c >= len(m.FeatureNames) {
			return fmt.Errorf("column %d of %d features", c, len(m.FeatureNames))
		}
	}
	return nil
}

// Posterior is a model on a device. It is not safe for concurrent use. That of
// several targets is of the first; see [Posterior.Target].
type Posterior struct {
	// whole is the model with all targets, model that of one of them.
	whole, model *Model
	prog         *kernel.Program
	ws           device.Workspace
	// gls and solved = Σ⁻¹H are there once a prediction has needed them.
	gls    *mean.GLS
	solved []float64
}

// Condition forms the posterior on the backend: the factor is read from the
// model's file if it is there and the method has one, and computed otherwise (n³/3
// operations).
func (m *Model) Condition(ctx context.Context, b device.Backend) (*Posterior, error) {
	prog, err := m.Program()
	if err != nil {
		return nil, err
	}
	if err := b.Supports(prog); err != nil {
		return nil, err
	}
	ws, err := b.NewWorkspace(ctx, kernel.NewPoints(m.Scaling.Inputs(m.X), m.N(), len(m.Columns)))
	if err != nil {
		return nil, err
	}
	p := &Posterior{whole: m, model: m.Target(0), prog: prog, ws: ws}
	if err := m.form(ctx, ws, prog); err != nil {
		ws.Close()
		return nil, err
	}
	return p, nil
}

// form makes a workspace ready for predictions.
func (m *Model) form(ctx context.Context, ws device.Workspace, prog *kernel.Program) error {
	if factor, ok := ws.(device.FactorStore); ok && m.factorPath != "" {
		return readFactor(m.factorPath, m.N(), factor)
	}
	return ws.Form(ctx, prog, m.Theta, m.diagonal())
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
	return &Posterior{whole: m, model: m.Target(0), prog: prog, ws: ws}, nil
}

// Model returns the model that was conditioned on, of the one target if it is
// that of a single one.
func (p *Posterior) Model() *Model { return p.model }

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
// column for every name in FeatureNames, in original units: Rasmussen &
// Williams (2006), eq. 2.25 and 2.26, or 2.41 and 2.42 where the mean's
// coefficients were found by least squares. Nothing is known of the rows'
// noise; see [Posterior.PredictNoise].
func (p *Posterior) Predict(ctx context.Context, rows []float64, m int) (*Prediction, error) {
	return p.PredictNoise(ctx, rows, m, RowNoise{})
}

// PredictNoise is Predict for rows whose noise is known: it makes a difference
// to Std alone. Errors: [*ShapeError], [*NoiseError], [*RangeError],
// [*device.MemoryError].
func (p *Posterior) PredictNoise(ctx context.Context, rows []float64, m int, row RowNoise) (*Prediction, error) {
	out, err := p.predict(ctx, rows, m, row, []*Model{p.model}, p.model.Alpha)
	if err != nil {
		return nil, err
	}
	return out[0], nil
}

// predict serves targets whose weights are the columns of alpha. They share
// everything but means and units.
func (p *Posterior) predict(ctx context.Context, rows []float64, m int, row RowNoise, targets []*Model, alpha []float64) ([]*Prediction, error) {
	scaled, err := p.model.scaledRows(rows, m)
	if err != nil {
		return nil, err
	}
	noise, err := p.model.noises(m, row)
	if err != nil {
		return nil, err
	}
	means, reduction := make([]float64, m*len(targets)), make([]float64, m)
	xs := kernel.NewPoints(scaled, m, len(p.model.Columns))
	if err := p.ws.Predict(ctx, p.prog, p.model.Theta, alpha, xs, means, reduction); err != nil {
		return nil, err
	}
	latent, err := p.priorVariance(ctx, p.prog, p.model.Theta, xs, true)
	if err != nil {
		return nil, err
	}
	for i, v := range reduction {
		// Rounding can take the difference a little below zero.
		latent[i] = max(latent[i]-v, 0)
	}
	var out []*Prediction
	for t, mod := range targets {
		mean := mod.means(scaled, m)
		floats.Add(mean, means[t*m:(t+1)*m])
		p := newPrediction(mod.Scaling, mean, latent, noise)
		if err := checkResult("prediction", m, p.Mean, p.Std, p.StdLatent, p.Lower95, p.Upper95); err != nil {
			return nil, err
		}
		out = append(out, p)
	}
	return out, nil
}

// newPrediction brings means and variances to original units.
func newPrediction(s Scaling, mean, latent, noise []float64) *Prediction {
	m := len(mean)
	out := &Prediction{Mean: mean, Std: make([]float64, m), StdLatent: make([]float64, m), Lower95: make([]float64, m), Upper95: make([]float64, m)}
	for i := range m {
		out.Mean[i] = mean[i]*s.YScale + s.YMean
		out.StdLatent[i] = math.Sqrt(latent[i]) * s.YScale
		out.Std[i] = math.Sqrt(latent[i]+noise[i]) * s.YScale
		out.Lower95[i] = out.Mean[i] - z95*out.Std[i]
		out.Upper95[i] = out.Mean[i] + z95*out.Std[i]
	}
	return out
}

// priorVariance returns the variances at xs before the data reduces them:
// k(x*, x*) for prog, and that of the mean's coefficients (see meanUncertainty).
func (p *Posterior) priorVariance(ctx context.Context, prog *kernel.Program, theta []float64, xs *kernel.Points, withMean bool) ([]float64, error) {
	variance := make([]float64, xs.N)
	e := kernel.NewEvaluator(prog)
	e.Bind(theta)
	e.Diagonal(variance, xs, 0, xs.N)
	w, err := p.meanUncertainty(ctx, prog, theta, xs, withMean)
	q := len(p.model.Mean.Basis)
	for i := range w {
		variance[i/q] += w[i] * w[i]
	}
	return variance, err
}
