package gp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"

	"gpfit/device"
	"gpfit/experts"
	"gpfit/feature"
	"gpfit/internal/score"
	"gpfit/internal/textform"
	"gpfit/kernel"
	"gpfit/mean"
)

// Model is a fitted model with everything that predictions depend on. Parameters
// are in scaled units (see Scaling), data in original units.
type Model struct {
	// Kernel is the text form. Columns are the positions in FeatureNames of the
	// columns in use, and the labels in names of parameters.
	Kernel       string   `json:"kernel"`
	Columns      []int    `json:"columns"`
	FeatureNames []string `json:"feature_names"`
	TargetName   string   `json:"target_name"`
	// Encoding says how the columns of a table become the features; nil if they are its
	// columns, as numbers.
	Encoding *feature.Encoding `json:"encoding,omitempty"`
	// Targets is set if several targets share X, kernel and noise. The fields for a
	// single target (TargetName, Mean.Coefficients and the target's part of
	// Scaling) then describe the first. See [Model.Target].
	Targets []Target `json:"targets,omitempty"`
	// ParameterNames and Theta are the names and natural values of the kernel's
	// parameters.
	ParameterNames []string  `json:"parameter_names"`
	Theta          []float64 `json:"theta"`
	// NoiseVariance is the estimated σ², 0 if none is estimated or if each group
	// has its own. Noise describes how noise differs from row to row. Jitter is the
	// variance that was also added to the diagonal, 0 unless the user allowed some.
	NoiseVariance float64 `json:"noise_variance"`
	Noise         Noise   `json:"noise,omitzero"`
	Jitter        float64 `json:"jitter"`
	Mean          Mean    `json:"mean"`
	Scaling       Scaling `json:"scaling"`
	// NLML is the objective at these parameters, in scaled units.
	NLML float64 `json:"nlml"`
	// Status is the reason for the end of the fit.
	Status string `json:"status"`
	// HeldOut describes the rows that the fit drew and held out, or is nil.
	HeldOut *HeldOut `json:"held_out,omitempty"`
	// Draws are draws of the parameters from their posterior; nil without. [Model.Mixture]
	// predicts with them, and everything else with Theta.
	Draws *Draws `json:"draws,omitempty"`
	// Experts divides the training rows among local experts; nil without. The covariance of
	// rows of different experts is then 0, and Alpha belongs to that covariance.
	Experts *experts.Partition `json:"experts,omitempty"`
	// Locals holds the parameters of each expert if they have their own; nil if they share
	// those above. Theta, NoiseVariance, Noise.Variances and the coefficients of Mean then are
	// medians over the experts, weighted by their rows, which no prediction uses.
	Locals []Local `json:"locals,omitempty"`

	// X holds the n×len(Columns) training inputs, row-major. Y holds the targets
	// and Alpha holds Σ⁻¹r in scaled units, both n×T column-major.
	X     []float64 `json:"-"`
	Y     []float64 `json:"-"`
	Alpha []float64 `json:"-"`
	// TrainNoise holds the n noise variances of the training rows, in scaled units;
	// nil if all of them are NoiseVariance.
	TrainNoise []float64 `json:"-"`
	// Rows holds the row numbers, from 0, of the training rows in their table, as
	// integers in float64; nil if they are all of its rows.
	Rows []float64 `json:"-"`
	// Record says how the model was fitted, as JSON; see summary.ModelRecord. It is nil if that
	// is unknown.
	Record json.RawMessage `json:"-"`
	// Kernels are the custom kernels that Kernel names; a model file stores only
	// the names.
	Kernels []*kernel.Family `json:"-"`
	// factorPath is a model file that holds the Cholesky factor, or "".
	factorPath string
}

// HeldOut describes rows that a fit drew from a table and held out.
type HeldOut struct {
	// Of is the share of the rows, or their number if it is at least 1. With Group it
	// counts the labels of that column. Seed drew them; Blocks means that they are the
	// last ones.
	Of     float64 `json:"of"`
	Seed   uint64  `json:"seed"`
	Group  string  `json:"group,omitempty"`
	Blocks bool    `json:"blocks,omitempty"`
	// Rows are the numbers of the rows in their table, from 0.
	Rows []int `json:"rows"`
}

// N returns the number of training rows.
func (m *Model) N() int { return len(m.Y) / m.T() }

// Row returns the row number, from 0, of training row i in its table.
func (m *Model) Row(i int) int {
	if m.Rows == nil {
		return i
	}
	return int(m.Rows[i])
}

// Parameters returns the parameters by name, natural values in scaled units. Names have
// the names of columns, such as lengthscale[temp], or their indices if the columns have
// no names. The parameters are those of the kernel, the estimated noise variances, and of an only target the coefficients of
// the mean.
func (m *Model) Parameters() map[string]float64 {
	out := map[string]float64{}
	columns := textform.Columns(m.FeatureNames)
	for i, name := range m.ParameterNames {
		out[columns.Display(name)] = m.Theta[i]
	}
	if m.NoiseVariance > 0 {
		out[noiseVariance] = m.NoiseVariance
	}
	for i, label := range m.Noise.Labels {
		out[noiseVariance+"["+textform.QuoteName(label)+"]"] = m.Noise.Variances[i]
	}
	if len(m.Targets) == 0 {
		for i, f := range m.Mean.Basis {
			out[columns.Display(f.Name())] = m.Mean.Coefficients[i]
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

// KernelText returns the kernel with the names of columns in place of indices.
func (m *Model) KernelText() string { return m.named(m.Kernel) }

// named returns the text of a kernel with the names of columns.
func (m *Model) named(text string) string {
	expr, err := kernel.Parser{Families: m.Kernels}.Parse(text)
	if err != nil {
		return text // a model that was loaded has none
	}
	return kernel.Text(expr, m.FeatureNames)
}

// validate checks that the parts are consistent.
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
		return fmt.Errorf("noise variances for %d training rows, but there are %d rows", len(m.TrainNoise), m.N())
	case !(m.NoiseVariance >= 0) || !(m.Jitter >= 0):
		return fmt.Errorf("noise variance %v, jitter %v", m.NoiseVariance, m.Jitter)
	}
	if m.Rows != nil && len(m.Rows) != m.N() {
		return fmt.Errorf("row numbers for %d training rows, but there are %d rows", len(m.Rows), m.N())
	}
	for i, v := range m.TrainNoise {
		if !(v >= 0) {
			return fmt.Errorf("noise variance %v of training row %d", v, i)
		}
	}
	if err := errors.Join(m.validateNumbers(), m.Mean.validate(d), m.Noise.validate(), m.Draws.validate(m), m.validateTargets()); err != nil {
		return err
	}
	if m.Encoding != nil {
		if err := m.Encoding.Check(m.FeatureNames); err != nil {
			return err
		}
	}
	if m.Experts != nil {
		if err := m.Experts.Check(m.N(), d); err != nil {
			return err
		}
	}
	if err := m.validateLocals(); err != nil {
		return err
	}
	for _, c := range m.Columns {
		if c < 0 || c >= len(m.FeatureNames) {
			return fmt.Errorf("column %d of %d features", c, len(m.FeatureNames))
		}
	}
	return nil
}

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
	prog, err := m.Program()
	if err != nil {
		return nil, err
	}
	if err := b.Supports(device.Workload{N: m.N(), D: len(m.Columns), Program: prog}); err != nil {
		return nil, err
	}
	ws, err := m.Backend(b).NewWorkspace(ctx, kernel.NewPoints(m.Scaling.Inputs(m.X), m.N(), len(m.Columns)))
	if err != nil {
		return nil, err
	}
	p := &Posterior{whole: m, model: m.Target(0), prog: prog, ws: ws}
	if m.Locals != nil {
		p.locals, err = m.conditionLocals(ctx, ws, prog)
	} else {
		err = m.form(ctx, ws, prog)
	}
	if err != nil {
		ws.Close()
		return nil, err
	}
	return p, nil
}

// form prepares a workspace for predictions.
func (m *Model) form(ctx context.Context, ws device.Workspace, prog *kernel.Program) error {
	if factor, ok := ws.(device.FactorStore); ok && m.factorPath != "" {
		return readFactor(m.factorPath, m.N(), factor)
	}
	return ws.Form(ctx, prog, m.Theta, m.diagonal())
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
	out, err := p.predict(ctx, rows, m, row, []*Model{p.model})
	if err != nil {
		return nil, err
	}
	return out[0], nil
}

// predict predicts targets of the model: all of them, or p.model alone.
func (p *Posterior) predict(ctx context.Context, rows []float64, m int, row RowNoise, targets []*Model) ([]*Prediction, error) {
	scaled, err := p.model.scaledRows(rows, m)
	if err != nil {
		return nil, err
	}
	noise, err := p.model.noises(m, row)
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
		means, latent, err = p.predictFunction(ctx, scaled, m, targets)
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
func (p *Posterior) predictFunction(ctx context.Context, scaled []float64, m int, targets []*Model) (means [][]float64, latent []float64, err error) {
	var alpha []float64
	for _, mod := range targets {
		alpha = append(alpha, mod.Alpha...)
	}
	sums, reduction := make([]float64, m*len(targets)), make([]float64, m)
	xs := kernel.NewPoints(scaled, m, len(p.model.Columns))
	if err := p.ws.Predict(ctx, p.prog, p.model.Theta, alpha, xs, sums, reduction); err != nil {
		return nil, nil, err
	}
	if latent, err = p.priorVariance(ctx, p.prog, p.model.Theta, xs, true); err != nil {
		return nil, nil, err
	}
	for i, v := range reduction {
		// Rounding can make the difference slightly negative.
		latent[i] = max(latent[i]-v, 0)
	}
	for t, mod := range targets {
		mean := mod.means(scaled, m)
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
