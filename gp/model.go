package gp

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"gpfit/device"
	"gpfit/internal/each"
	"gpfit/internal/matrixrows"
	"gpfit/internal/textform"
	"gpfit/internal/transform"
	"gpfit/kernel"
	"gpfit/mean"
	"gpfit/table/feature"
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
	// Constants are the values of features that are not in use because all training rows had them, where a feature is all that its
	// column becomes.
	Constants map[string]float64 `json:"constants,omitempty"`
	// Encoding says how the columns of a table become the features; nil if they are its
	// columns, as numbers.
	Encoding *feature.Encoding `json:"encoding,omitempty"`
	// Targets is set if several targets share X, kernel and noise. The fields for a
	// single target (TargetName, Mean.Coefficients and the target's part of
	// Scaling) then describe the first. See [Model.Target].
	Targets []Target `json:"targets,omitempty"`
	// ParameterNames and Theta are the names and natural values of the kernel's parameters.
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
	// Approximation is set if a method that is not exact, but bounds its error, computed the model; predictions then use it, too.
	Approximation *Approximation `json:"approximation,omitempty"`
	// Draws are draws of the parameters from their posterior; nil without. [NewMixture]
	// predicts with them, and everything else with Theta.
	Draws *Draws `json:"draws,omitempty"`

	// State holds further data with which the method of the fit computes with the training rows again. Most methods need none.
	State device.State `json:"-"`
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
	// Kernels are the custom kernels that Kernel names; a model file stores only the names.
	Kernels []*kernel.Family `json:"-"`
	// factorPath is a model file that holds the Cholesky factor, or "".
	factorPath string
}

// HeldOut describes rows that a fit drew from a table and held out.
type HeldOut struct {
	// Of is the share of the rows, or their number if it is at least 1. With Group it counts the
	// labels of that column. Seed drew them; Blocks means that they are the last ones.
	Of     float64 `json:"of"`
	Seed   uint64  `json:"seed"`
	Group  string  `json:"group,omitempty"`
	Blocks bool    `json:"blocks,omitempty"`
	// By is the column by which they are the last; empty means the order of the table.
	By string `json:"by,omitempty"`
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

// Parameters returns the parameters of the kernel, the estimated noise variances, and of an only
// target the coefficients of the mean, by name, natural values in scaled units. Names have the
// names of columns, such as lengthscale[temp], or their indices if the columns have no names.
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
	if t := m.Scaling.Transform; t != nil && t.Kind.Tuned() {
		out[transform.Parameter] = t.Lambda
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
	expr, err := m.Expression()
	if err != nil {
		return nil, err
	}
	return kernel.Compile(expr, m.Columns)
}

// Expression parses the kernel.
func (m *Model) Expression() (kernel.Expr, error) {
	return kernel.Parser{Families: m.Kernels}.Parse(m.Kernel)
}

// covariance compiles the kernel, with the values of its parameters.
func (m *Model) covariance() (covariance, error) {
	prog, err := m.Program()
	return covariance{prog, m.Theta}, err
}

// KernelText returns the kernel with the names of columns in place of indices.
func (m *Model) KernelText() string {
	expr, err := m.Expression()
	if err != nil {
		return m.Kernel // a model that was loaded has none
	}
	return kernel.Text(expr, m.FeatureNames)
}

// Noise describes how noise differs between training rows. The zero value means one
// variance for all, Model.NoiseVariance.
type Noise struct {
	// Column is the table's column of known variances, in squared units of the
	// target; "" for none. They are added to the estimated variances.
	Column string `json:"column,omitempty"`
	// GroupColumn is the column of labels, Labels are the groups, and Variances their estimated
	// noise variances in scaled units. All are empty for a single variance.
	GroupColumn string    `json:"group_column,omitempty"`
	Labels      []string  `json:"labels,omitempty"`
	Variances   []float64 `json:"variances,omitempty"`
	// Outlying are the positions of training rows that do not fit, OutlyingVariances their noise
	// variances of their own, in scaled units, which TrainNoise includes.
	Outlying          []int     `json:"outlying,omitempty"`
	OutlyingVariances []float64 `json:"outlying_variances,omitempty"`
	// OutlyingShare is the probability that a new observation does not fit either. Its noise then has the mean of
	// OutlyingVariances in addition. It is 0 in models of earlier programs, whose new observations all fit.
	OutlyingShare float64 `json:"outlying_share,omitempty"`
	// WeightColumn is the table's column of weights, by which the estimated variance of a row is
	// divided; "" for none.
	WeightColumn string `json:"weight_column,omitempty"`
}

// RowNoise is the known noise of rows to predict. The zero value
// means that nothing is known; predictions then use only the estimated variance.
type RowNoise struct {
	// Known holds the known variances of the rows, in squared units of the target;
	// nil if they are unknown.
	Known []float64
	// Group holds the rows' labels; nil if there are none.
	Group []string
	// DefaultGroup is the label of rows without one.
	DefaultGroup string
	// Weight holds weights of the rows, by which their estimated variances are divided; nil means 1,
	// and so does 0, which leaves a row out of a fit.
	Weight []float64
}

// Pick returns the noise of the given rows.
func (r RowNoise) Pick(rows []int) RowNoise {
	r.Known, r.Group, r.Weight = matrixrows.Values(r.Known, rows), matrixrows.Values(r.Group, rows), matrixrows.Values(r.Weight, rows)
	return r
}

// NoiseError reports a row to predict whose noise is unknown or invalid.
type NoiseError struct {
	// Row is the index of the row, or −1 if no single row is at fault.
	Row int
	Msg string
}

func (e *NoiseError) Error() string {
	if e.Row < 0 {
		return e.Msg
	}
	return fmt.Sprintf("row %d (from 1): %s", e.Row+1, e.Msg)
}

// Mean is a fitted mean function, m(x) = Σ_j β_j h_j(x) of scaled inputs and in
// scaled units of the target. The zero value is m = 0.
type Mean struct {
	// Text is the text that the user gave.
	Text string `json:"text"`
	// Basis holds the functions h, Coefficients their coefficients β.
	Basis        mean.Basis `json:"basis,omitempty"`
	Coefficients []float64  `json:"coefficients,omitempty"`
	// LeastSquares means that generalized least squares on the training rows found
	// β. Predictions then include the uncertainty of β.
	LeastSquares bool `json:"least_squares"`
}

// Named returns the text with the names of columns in place of indices. Errors are [*mean.ParseError].
func (m *Mean) Named(columns []string) (string, error) {
	e, err := mean.Parse(m.Text, columns)
	return e.Text(columns), err
}

// Target is one of several targets that share inputs, kernel and noise; each
// has its own units and coefficients of the mean.
type Target struct {
	Name         string    `json:"name"`
	YMean        float64   `json:"y_mean"`
	YScale       float64   `json:"y_scale"`
	Coefficients []float64 `json:"coefficients,omitempty"`
	// NLML is the target's part of the objective, in scaled units.
	NLML float64 `json:"nlml"`
}

// Draws are draws of a model's parameters from their posterior, in scaled units. Each
// field has one element for each draw.
type Draws struct {
	// Method says how they were drawn: laplace or hmc.
	Method string `json:"method"`
	// Theta are the parameters of the kernel; Noise the estimated noise variances, none,
	// one, or one for each label; Coefficients the mean's if they are parameters.
	Theta        [][]float64 `json:"theta"`
	Noise        [][]float64 `json:"noise,omitempty"`
	Coefficients [][]float64 `json:"coefficients,omitempty"`
	// Lambda is λ of a transform of the target if it is a parameter.
	Lambda []float64 `json:"lambda,omitempty"`
	// Group is, for each training row, the index of its noise group; nil without groups.
	Group []int `json:"group,omitempty"`
	// The draws from index From on are of another model of the rows, with this kernel and mean. Kernel is "" without.
	Kernel string `json:"kernel,omitempty"`
	Mean   *Mean  `json:"mean,omitempty"`
	From   int    `json:"from,omitempty"`
}

// other reports whether draw k is of the other model.
func (d *Draws) other(k int) bool { return d.Kernel != "" && k >= d.From }

// Len returns the number of draws; 0 for nil.
func (d *Draws) Len() int {
	if d == nil {
		return 0
	}
	return len(d.Theta)
}

const noiseVariance = "noise_variance"

// NameError reports a parameter that a process does not have, a name that is not a target
// of a model, or a missing name for a model with several targets.
type NameError struct {
	// Name is the requested name, and Known are the names that exist.
	Name  string
	Known []string
	msg   string
}

func (e *NameError) Error() string { return e.msg }

// T returns the number of targets.
func (m *Model) T() int { return max(1, len(m.Targets)) }

// Target returns the model of one target, t, counted from 0. It shares data with m.
func (m *Model) Target(t int) *Model {
	if len(m.Targets) == 0 {
		return m
	}
	one, n, part := *m, m.N(), m.Targets[t]
	one.Targets, one.TargetName, one.NLML = nil, part.Name, part.NLML
	one.Scaling.YMean, one.Scaling.YScale = part.YMean, part.YScale
	one.Mean.Coefficients = part.Coefficients
	one.Y, one.Alpha = m.Y[t*n:(t+1)*n], m.Alpha[t*n:(t+1)*n]
	return &one
}

// targets returns the models of all targets.
func (m *Model) targets() []*Model {
	out := make([]*Model, m.T())
	for t := range out {
		out[t] = m.Target(t)
	}
	return out
}

// TargetNames returns the names of the targets.
func (m *Model) TargetNames() []string {
	if len(m.Targets) == 0 {
		return []string{m.TargetName}
	}
	return each.Of(m.Targets, func(part Target) string { return part.Name })
}

// TargetNamed returns the model of only the named target; "" means the only
// target. Errors are [*NameError].
func (m *Model) TargetNamed(name string) (*Model, error) {
	names := m.TargetNames()
	t := slices.Index(names, name)
	if name == "" && len(names) == 1 {
		t = 0
	}
	if t < 0 {
		known := strings.Join(names, ", ")
		msg := fmt.Sprintf("no target %q: the model's targets are %s", name, known)
		switch {
		case name == "":
			msg = "the model has several targets: " + known
		case len(names) == 1:
			msg = fmt.Sprintf("no target %q: the model's target is %s", name, known)
		}
		return nil, &NameError{name, names, msg}
	}
	return m.Target(t), nil
}

// Points returns the training inputs in scaled units.
func (m *Model) Points() *kernel.Points {
	return kernel.NewPoints(m.Scaling.Inputs(m.X), m.N(), len(m.Columns))
}

// Workload returns what decides about devices and methods for predictions with the model.
func (m *Model) Workload() (device.Workload, error) {
	prog, err := m.Program()
	w := device.Workload{N: m.N(), D: len(m.Columns), Points: m.Points(), Program: prog, NoiseByRow: m.TrainNoise != nil, State: m.State}
	if a := m.Approximation; a != nil {
		w.Tolerance, w.State.Method = a.Wanted(m.T()), a.Method
	}
	return w, err
}

// NoiseDiagonal returns the variances that are added to the diagonal of the training
// rows' kernel matrix: one for each row, or one for all.
func (m *Model) NoiseDiagonal() []float64 {
	if m.TrainNoise == nil {
		return []float64{m.NoiseVariance + m.Jitter}
	}
	out := slices.Clone(m.TrainNoise)
	for i := range out {
		out[i] += m.Jitter
	}
	return out
}
