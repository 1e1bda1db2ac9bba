// Package exchange writes models for other programs, which need no parser for gpfit's text forms: [WriteJSON] and
// [WriteNPZ] write files, and [NewExplicit] returns the numbers with which a small program predicts.
package exchange

import (
	"archive/zip"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"gpfit/gp"
	"gpfit/gp/npy"
	"gpfit/internal/each"
	"gpfit/internal/score"
	"gpfit/internal/transform"
	"gpfit/kernel"
	"gpfit/kernel/oplist"
	"gpfit/mean"
	"gpfit/table/feature"
)

// Version is the newest version of the exchange format. Version 2 adds the encoding of
// columns that are not numbers, version 3 local experts; version 4 had experts with parameters of
// their own, version 5 adds observations that do not fit, version 6 the waves of a mean, version 7 a
// transform of the target, and version 8 transforms of columns. A model has the oldest version that has all its parts.
const Version = 8

// export is a model for other programs, which need no parser for gpfit's text forms.
// examples/model.schema.json is its JSON Schema; examples/EXPORT.md describes it with formulas.
type export struct {
	Type          string `json:"type"`
	SchemaVersion int    `json:"schema_version"`
	N             int    `json:"n"`
	D             int    `json:"d"`
	// FeatureNames are all features, Columns the positions of the D features in use.
	FeatureNames []string `json:"feature_names"`
	// Encoding says how the columns of a table become the features; nil if they are its
	// columns, as numbers.
	Encoding   *feature.Encoding `json:"encoding,omitempty"`
	Columns    []int             `json:"columns"`
	TargetName string            `json:"target_name"`
	KernelText string            `json:"kernel_text"`
	Kernel     *node             `json:"kernel"`
	Mean       exportMean        `json:"mean"`
	Noise      exportNoise       `json:"noise"`
	Scaling    gp.Scaling        `json:"scaling"`
	NLML       float64           `json:"nlml"`
	Status     string            `json:"status"`
	// Experts divides the training rows among local experts; nil without.
	Experts *exportExperts `json:"experts,omitempty"`
	// Draws are the draws of the parameters over which predictions average.
	Draws []exportDraw `json:"draws,omitempty"`
	*arrays
}

// exportDraw has what differs from the model with the parameters of one draw. With least squares, the coefficients of
// the mean are still to be found.
type exportDraw struct {
	Kernel     *node          `json:"kernel"`
	Mean       exportMean     `json:"mean"`
	Noise      exportNoise    `json:"noise"`
	Transform  *transform.Map `json:"transform,omitempty"`
	TrainNoise []float64      `json:"training_noise,omitempty"`
}

// arrays are members of the JSON form; the NPZ form stores them as NumPy arrays.
type arrays struct {
	X     [][]float64 `json:"X"`
	Y     []float64   `json:"y"`
	Alpha []float64   `json:"alpha"`
	// Noise is each training row's total noise variance in scaled units, if rows differ.
	Noise []float64 `json:"training_noise,omitempty"`
}

// node is a covariance function as a tree. Type is "leaf", "sum" or "product".
type node struct {
	Type string `json:"type"`
	// SignalVariance multiplies the node's value; absent means 1.
	SignalVariance *float64 `json:"signal_variance,omitempty"`
	// Family, Columns (positions in X) and Parameters (a number, or a list with one
	// for each of Columns) describe a leaf.
	Family     string         `json:"family,omitempty"`
	Columns    []int          `json:"columns,omitempty"`
	Parameters map[string]any `json:"parameters,omitempty"`
	// Degree is the degree of a polynomial, Order the number in parentheses of another family.
	Degree int      `json:"degree,omitempty"`
	Order  *float64 `json:"order,omitempty"`
	// Formula is the text of a leaf that is a formula.
	Formula string `json:"formula,omitempty"`
	// Features and Operations compute a leaf whose family not every program knows.
	Features   []pairFeature   `json:"features,omitempty"`
	Operations []pairOperation `json:"operations,omitempty"`
	// Children are the terms of a sum or the factors of a product.
	Children []*node `json:"children,omitempty"`
}

// exportMean is the mean function, in scaled units.
type exportMean struct {
	LeastSquares bool          `json:"least_squares"`
	Basis        []exportBasis `json:"basis"`
}

// exportExperts says how local experts divide the rows and predict: a row belongs to the
// nearest of Centres, in scaled inputs.
type exportExperts struct {
	Combine     string      `json:"combine"`
	Centres     [][]float64 `json:"centres"`
	Temperature float64     `json:"temperature"`
}

// exportBasis is one function of the mean with its coefficient. Type is "constant", "linear",
// "power", "bump", "cos" or "sin"; all but "constant" depend on one column (position in X).
type exportBasis struct {
	Type        string   `json:"type"`
	Coefficient float64  `json:"coefficient"`
	Column      *int     `json:"column,omitempty"`
	Power       int      `json:"power,omitempty"`
	Centre      *float64 `json:"centre,omitempty"`
	Width       *float64 `json:"width,omitempty"`
}

// exportNoise describes the diagonal of Σ − K, in scaled units.
type exportNoise struct {
	// Variance is the noise variance of a new observation; with groups, see Groups.
	Variance float64 `json:"variance"`
	Jitter   float64 `json:"jitter"`
	// Groups maps the labels in GroupColumn of the table to variances.
	GroupColumn string             `json:"group_column,omitempty"`
	Groups      map[string]float64 `json:"groups,omitempty"`
	// KnownColumn is the column of known variances, in original units, which are
	// added to the estimated ones.
	KnownColumn string `json:"known_column,omitempty"`
	// OutlyingShare is the probability that a new observation does not fit: it then has OutlyingVariance in addition.
	OutlyingShare    float64 `json:"outlying_share,omitempty"`
	OutlyingVariance float64 `json:"outlying_variance,omitempty"`
}

// WriteJSON writes the model as one JSON object for other programs.
func WriteJSON(m *gp.Model, w io.Writer) error {
	e, err := newExport(m)
	if err != nil {
		return err
	}
	e.arrays = &arrays{X: slices.Collect(slices.Chunk(m.X, len(m.Columns))), Y: m.Y, Alpha: m.Alpha, Noise: m.TrainNoise}
	return json.NewEncoder(w).Encode(e)
}

// WriteNPZ writes the model as a NumPy archive of X, y and alpha, with the rest
// in its entry model.json.
func WriteNPZ(m *gp.Model, w io.Writer) error {
	e, err := newExport(m)
	if err != nil {
		return err
	}
	text, err := json.MarshalIndent(e, "", "  ")
	if err != nil {
		return err
	}
	n, d := m.N(), len(m.Columns)
	arrays := []npy.Array{{Name: "X", Shape: []int{n, d}, Values: m.X}, {Name: "y", Shape: []int{n}, Values: m.Y}, {Name: "alpha", Shape: []int{n}, Values: m.Alpha}}
	if m.TrainNoise != nil {
		arrays = append(arrays, npy.Array{Name: "training_noise", Shape: []int{n}, Values: m.TrainNoise})
	}
	z := zip.NewWriter(w)
	return cmp.Or(npy.AddText(z, "model.json", text), npy.Add(z, arrays...), z.Close())
}

func newExport(m *gp.Model) (*export, error) {
	if err := m.Validate(); err != nil {
		return nil, fmt.Errorf("gp: model to export: %w", err)
	}
	if m.T() > 1 {
		return nil, fmt.Errorf("a model of %d targets cannot be exported as a whole: export each target", m.T())
	}
	tree, err := exportedKernel(m)
	if err != nil {
		return nil, err
	}
	e := &export{
		Type: "gpfit export", SchemaVersion: 1, N: m.N(), D: len(m.Columns),
		FeatureNames: m.FeatureNames, Encoding: m.Encoding, Columns: m.Columns, TargetName: m.TargetName,
		KernelText: m.Kernel, Kernel: tree, Mean: exportedMean(m), Noise: exportedNoise(m), Scaling: m.Scaling, NLML: m.NLML, Status: m.Status,
	}
	for _, one := range m.Draws.Models(m) {
		tree, err := exportedKernel(one)
		if err != nil {
			return nil, err
		}
		e.Draws = append(e.Draws, exportDraw{tree, exportedMean(one), exportedNoise(one), one.Scaling.Transform, one.TrainNoise})
	}
	if m.Encoding != nil {
		e.SchemaVersion = 2
	}
	if m.Noise.OutlyingShare > 0 {
		e.SchemaVersion = 5
	}
	if m.State.Method != "" {
		e.SchemaVersion, e.Experts = 3, &exportExperts{}
		if err := json.Unmarshal([]byte(m.State.Text), e.Experts); err != nil {
			return nil, fmt.Errorf("gp: model to export: %w", err)
		}
		e.Experts.Temperature = cmp.Or(e.Experts.Temperature, 1)
	}
	if slices.ContainsFunc(m.Mean.Basis, func(f mean.Function) bool { return f.Period > 0 }) {
		e.SchemaVersion = 6
	}
	if m.Scaling.Transform != nil {
		e.SchemaVersion = 7
	}
	if m.Scaling.XTransforms != nil {
		e.SchemaVersion = Version
	}
	return e, nil
}

// exportedKernel exports the kernel of a model with its parameters.
func exportedKernel(m *gp.Model) (*node, error) {
	prog, err := m.Program()
	if err != nil {
		return nil, err
	}
	expr, _ := m.Expression() // the program has read it
	x := exporter{prog: prog, theta: m.Theta, labels: m.Columns}
	tree, err := x.node(expr, "")
	if err == nil && x.used != prog.NumParams {
		err = fmt.Errorf("gp: export of %s places %d of %d parameters", m.Kernel, x.used, prog.NumParams)
	}
	return tree, err
}

func exportedMean(m *gp.Model) exportMean {
	out := exportMean{LeastSquares: m.Mean.LeastSquares, Basis: []exportBasis{}}
	for j, f := range m.Mean.Basis {
		b := exportBasis{Type: strings.TrimPrefix(f.Group, "mean_"), Coefficient: m.Mean.Coefficients[j], Column: &f.Column}
		switch f.Group {
		case mean.Constant:
			b.Column = nil
		case mean.Power:
			b.Power = f.Index
		case mean.Bump, mean.Cosine, mean.Sine:
			b.Centre, b.Width = &f.Centre, &f.Width
		}
		out.Basis = append(out.Basis, b)
	}
	return out
}

func exportedNoise(m *gp.Model) exportNoise {
	out := exportNoise{Variance: m.NoiseVariance, Jitter: m.Jitter, GroupColumn: m.Noise.GroupColumn, Groups: map[string]float64{}, KnownColumn: m.Noise.Column}
	if out.OutlyingShare = m.Noise.OutlyingShare; out.OutlyingShare > 0 {
		out.OutlyingVariance = score.Mean(m.Noise.OutlyingVariances)
	}
	for i, label := range m.Noise.Labels {
		out.Groups[label] = m.Noise.Variances[i]
	}
	return out
}

// exporter attaches a program's parameters to the tree from which it was compiled.
type exporter struct {
	prog   *kernel.Program
	theta  []float64
	labels []int
	// used counts the parameters that have been placed.
	used int
}

// node exports e, whose parameters have names that begin with prefix.
func (x *exporter) node(e kernel.Expr, prefix string) (*node, error) {
	out := &node{}
	var parts []kernel.Expr
	switch e := e.(type) {
	case *kernel.Leaf:
		out.Type, out.Family, out.Parameters, out.Columns, out.Formula = "leaf", e.Family.Name, map[string]any{}, x.positions(e), e.Formula()
		out.number(e)
	case kernel.Sum:
		out.Type, parts = "sum", e
	case kernel.Product:
		out.Type, parts = "product", e
	}
	for i, part := range parts {
		child, err := x.node(part, kernel.PartPrefix(prefix, i))
		if err != nil {
			return nil, err
		}
		out.Children = append(out.Children, child)
	}
	x.place(out, prefix)
	if l, ok := e.(*kernel.Leaf); ok && !slices.Contains(plainFamilies, l.Family.Name) {
		prog, err := kernel.Compile(l, x.labels)
		if err != nil {
			return nil, err
		}
		out.Features, out.Operations, err = operationsOf(prog, leafTheta(prog, out.Parameters))
		return out, err
	}
	return out, nil
}

// number exports the number in a leaf's parentheses.
func (n *node) number(l *kernel.Leaf) {
	switch name, v := l.Number(); {
	case name == "degree":
		n.Degree = int(v)
	case name != "":
		n.Order = &v
	}
}

// place assigns the parameters with a prefix to a node.
func (x *exporter) place(out *node, prefix string) {
	for _, p := range x.prog.Params {
		name, ok := strings.CutPrefix(p.Name, prefix)
		if !ok || strings.Contains(name, ".") {
			continue
		}
		values := x.theta[p.Offset : p.Offset+p.Size]
		x.used += p.Size
		switch {
		case name == "signal_variance":
			out.SignalVariance = &values[0]
		case p.Vector:
			out.Parameters[name] = values
		default:
			out.Parameters[name] = values[0]
		}
	}
	for _, name := range x.prog.Zeros {
		if own, ok := strings.CutPrefix(name, prefix); ok && !strings.Contains(own, ".") {
			out.Parameters[own] = 0.0
		}
	}
}

// positions returns a leaf's columns as positions in X.
func (x *exporter) positions(l *kernel.Leaf) []int {
	if l.Dims == nil {
		return kernel.Columns(len(x.labels))
	}
	return each.Of(l.Dims, func(label int) int { return slices.Index(x.labels, label) })
}

// pairOperation computes a value of a pair of points from earlier ones. Op is the name
// of its function; examples/EXPORT.md lists them.
type pairOperation struct {
	Op string `json:"op"`
	// Of holds the indices in the list of the operations whose values it uses.
	Of []int `json:"of,omitempty"`
	// Feature belongs to "feature", Coefficients and Constant to "sum", Powers to "product",
	// Exponent to "power" and Number to "number"; "decay" also has Coefficients.
	Feature      *int      `json:"feature,omitempty"`
	Coefficients []float64 `json:"coefficients,omitempty"`
	Constant     *float64  `json:"constant,omitempty"`
	Powers       []int     `json:"powers,omitempty"`
	Exponent     *float64  `json:"exponent,omitempty"`
	Number       *float64  `json:"number,omitempty"`
}

// pairFeature is a sum over columns (positions in X), each with a weight.
type pairFeature struct {
	Kind    string    `json:"kind"`
	Columns []int     `json:"columns"`
	Weights []float64 `json:"weights"`
	// Periods is set for "sin_squares".
	Periods []float64 `json:"periods,omitempty"`
}

// plainFamilies are the families that other programs know by name. Leaves of other
// families are exported as operations.
var plainFamilies = []string{"rbf", "matern12", "matern32", "matern52", "rq", "periodic", "cosine", "linear", "poly", "constant"}

var featureNames = map[kernel.FeatureKind]string{
	kernel.SquaredDistance: "squared_distance", kernel.InnerProduct: "inner_product", kernel.SinSquares: "sin_squares",
	kernel.Differences: "differences", kernel.Mismatches: "mismatches", kernel.First: "first", kernel.Second: "second",
	kernel.FirstNorm: "first_norm", kernel.SecondNorm: "second_norm",
}

var operationNames = map[oplist.Op]string{
	oplist.Exp: "exp", oplist.Log: "log", oplist.LogOrZero: "log_or_0", oplist.Log1p: "log1p", oplist.Sqrt: "sqrt", oplist.RootInverse: "inverse_sqrt",
	oplist.Sine: "sin_turns", oplist.Cosine: "cos_turns", oplist.Tanh: "tanh", oplist.Arcsine: "asin", oplist.Erf: "erf", oplist.Sinc: "sinc", oplist.Abs: "abs", oplist.Positive: "positive", oplist.Step: "step",
}

// operationsOf returns the features and operations of a program at its parameters.
func operationsOf(prog *kernel.Program, theta []float64) ([]pairFeature, []pairOperation, error) {
	w := operationWriter{prog: prog, theta: theta, places: map[oplist.ID]int{}}
	w.uniforms = make([]float64, len(prog.List.Values))
	need := prog.List.Needed(prog.Value)
	prog.List.Uniforms(w.uniforms, w.theta, need)
	for id := range prog.List.Values {
		if v := &prog.List.Values[id]; need[id] && !v.Uniform {
			if err := w.add(oplist.ID(id), v); err != nil {
				return nil, nil, err
			}
		}
	}
	if prog.List.At(prog.Value).Uniform {
		w.out = append(w.out, pairOperation{Op: "number", Number: &w.uniforms[prog.Value]})
	}
	features := []pairFeature{}
	for _, f := range prog.Features {
		features = append(features, w.feature(&f))
	}
	return features, w.out, nil
}

// leafTheta returns the parameters of a leaf alone, with a signal variance of 1,
// because the tree stores the signal variance elsewhere.
func leafTheta(prog *kernel.Program, parameters map[string]any) []float64 {
	theta := make([]float64, prog.NumParams)
	for _, p := range prog.Params {
		values := theta[p.Offset : p.Offset+p.Size]
		switch v := parameters[p.Name].(type) {
		case []float64:
			copy(values, v)
		case float64:
			values[0] = v
		default:
			values[0] = 1
		}
	}
	return theta
}

// operationWriter converts operations to their form for other programs.
type operationWriter struct {
	prog            *kernel.Program
	theta, uniforms []float64
	// places maps an operation to its index in out.
	places map[oplist.ID]int
	out    []pairOperation
}

func (w *operationWriter) add(id oplist.ID, v *oplist.Value) error {
	o := pairOperation{Op: operationNames[v.Op]}
	for _, a := range v.Args {
		o.Of = append(o.Of, w.places[a])
	}
	switch v.Op {
	case oplist.Feature:
		o.Op, o.Feature = "feature", &v.Index
	case oplist.Sum:
		o.Op = "sum"
		for _, c := range v.Coef {
			o.Coefficients = append(o.Coefficients, w.uniforms[c])
		}
		if v.Offset != oplist.None {
			o.Constant = &w.uniforms[v.Offset]
		}
	case oplist.Product:
		o.Op, o.Powers = "product", v.Powers
	case oplist.Power:
		o.Op, o.Exponent = "power", &w.uniforms[v.Coef[0]]
	case oplist.Decay:
		o.Op, o.Coefficients = "decay", v.Poly[1:]
		if v.Poly[0] != 0 {
			return fmt.Errorf("gp: export of %s: a decay with a pole", w.prog.Text)
		}
	}
	if o.Op == "" {
		return fmt.Errorf("gp: export of %s: operation %d has no name", w.prog.Text, v.Op)
	}
	w.places[id] = len(w.out)
	w.out = append(w.out, o)
	return nil
}

func (w *operationWriter) feature(f *kernel.Feature) pairFeature {
	out := pairFeature{Kind: featureNames[f.Kind], Columns: f.Dims, Weights: slices.Repeat([]float64{1}, len(f.Dims))}
	for q := range f.Dims {
		if f.Param >= 0 {
			for range f.Power() {
				out.Weights[q] /= w.theta[f.Param+q]
			}
		}
		if f.Kind == kernel.SinSquares {
			out.Periods = append(out.Periods, w.theta[f.Period+min(q, f.Periods-1)])
		}
	}
	return out
}
