package gp

import (
	"archive/zip"
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"gpfit/experts"
	"gpfit/feature"
	"gpfit/kernel"
	"gpfit/mean"
)

// ExportVersion is the newest version of the exchange format. Version 2 adds the encoding
// of columns that are not numbers, version 3 local experts, version 4 experts with parameters
// of their own. A model has the oldest version
// that has all its parts.
const ExportVersion = 4

// export is a model for other programs, which need no parser for gpfit's text
// forms. examples/model.schema.json is its JSON Schema; examples/EXPORT.md
// describes it with formulas.
type export struct {
	Type          string `json:"type"`
	SchemaVersion int    `json:"schema_version"`
	N             int    `json:"n"`
	D             int    `json:"d"`
	// FeatureNames are all features, Columns the positions of the D features in
	// use.
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
	Scaling    Scaling           `json:"scaling"`
	NLML       float64           `json:"nlml"`
	Status     string            `json:"status"`
	// Experts divides the training rows among local experts; nil without.
	Experts *exportExperts `json:"experts,omitempty"`
	*arrays
}

// arrays are members of the JSON form; the NPZ form stores them as NumPy arrays.
type arrays struct {
	X     [][]float64 `json:"X"`
	Y     []float64   `json:"y"`
	Alpha []float64   `json:"alpha"`
	// Noise is each training row's total noise variance in scaled units, if rows
	// differ.
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
	// Degree is the degree of a polynomial, Order the number in parentheses of
	// another family.
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
	// Models and Trust have an element for each expert with parameters of its own. The
	// kernel, mean and noise of the export are then those of medians over the experts.
	Models []exportLocal   `json:"models,omitempty"`
	Trust  []experts.Trust `json:"trust,omitempty"`
}

// exportLocal holds the parameters of a local expert that has its own.
type exportLocal struct {
	Kernel *node       `json:"kernel"`
	Mean   exportMean  `json:"mean"`
	Noise  exportNoise `json:"noise"`
	NLML   float64     `json:"nlml"`
}

// exportBasis is one function of the mean with its coefficient. Type is "constant",
// "linear", "power" or "bump"; all but "constant" depend on one column (position in
// X).
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
}

// ExportJSON writes the model as one JSON object for other programs.
func ExportJSON(m *Model, w io.Writer) error {
	e, err := newExport(m)
	if err != nil {
		return err
	}
	d := len(m.Columns)
	e.arrays = &arrays{X: make([][]float64, m.N()), Y: m.Y, Alpha: m.Alpha, Noise: m.TrainNoise}
	for i := range e.X {
		e.X[i] = m.X[i*d : (i+1)*d]
	}
	b := bufio.NewWriter(w)
	if err := json.NewEncoder(b).Encode(e); err != nil {
		return err
	}
	return b.Flush()
}

// ExportNPZ writes the model as a NumPy archive of X, y and alpha, with the rest
// in its entry model.json.
func ExportNPZ(m *Model, w io.Writer) error {
	e, err := newExport(m)
	if err != nil {
		return err
	}
	text, err := json.MarshalIndent(e, "", "  ")
	if err != nil {
		return err
	}
	b := bufio.NewWriter(w)
	z := zip.NewWriter(b)
	if err := writeText(z, headerEntry, text); err != nil {
		return err
	}
	n, d := m.N(), len(m.Columns)
	arrays := []NPYArray{{"X", []int{n, d}, m.X}, {"y", []int{n}, m.Y}, {"alpha", []int{n}, m.Alpha}}
	if m.TrainNoise != nil {
		arrays = append(arrays, NPYArray{"training_noise", []int{n}, m.TrainNoise})
	}
	for _, a := range arrays {
		if err := a.writeEntry(z); err != nil {
			return err
		}
	}
	if err := z.Close(); err != nil {
		return err
	}
	return b.Flush()
}

func newExport(m *Model) (*export, error) {
	if err := m.validate(); err != nil {
		return nil, fmt.Errorf("gp: model to export: %w", err)
	}
	if m.T() > 1 {
		return nil, fmt.Errorf("gp: a model of %d targets cannot be exported as a whole: export each target", m.T())
	}
	tree, err := exportedKernel(m)
	if err != nil {
		return nil, err
	}
	e := &export{
		Type: "gpfit export", SchemaVersion: 1, N: m.N(), D: len(m.Columns),
		FeatureNames: m.FeatureNames, Encoding: m.Encoding, Columns: m.Columns, TargetName: m.TargetName,
		KernelText: m.Kernel, Kernel: tree, Mean: exportedMean(m), Noise: exportedNoise(m),
		Scaling: m.Scaling, NLML: m.NLML, Status: m.Status,
	}
	if m.Encoding != nil {
		e.SchemaVersion = 2
	}
	if p := m.Experts; p != nil {
		e.SchemaVersion = 3
		e.Experts = &exportExperts{Combine: string(p.Combine), Centres: p.Centres, Temperature: cmp.Or(p.Temperature, 1), Trust: p.Trust}
	}
	if m.Locals != nil {
		e.SchemaVersion = ExportVersion
		e.Experts.Models, err = exportedLocals(m)
	}
	return e, err
}

// exportedLocals exports the parameters of local experts that have their own.
func exportedLocals(m *Model) ([]exportLocal, error) {
	var out []exportLocal
	for k, rows := range m.ExpertRows() {
		one := m.LocalModel(k, rows)
		tree, err := exportedKernel(one)
		if err != nil {
			return nil, err
		}
		out = append(out, exportLocal{tree, exportedMean(one), exportedNoise(one), one.NLML})
	}
	return out, nil
}

// exportedKernel exports the covariance function with the parameters of the model.
func exportedKernel(m *Model) (*node, error) {
	expr, err := parsedKernel(m)
	if err != nil {
		return nil, err
	}
	prog, err := m.Program()
	if err != nil {
		return nil, err
	}
	x := exporter{prog: prog, theta: m.Theta, labels: m.Columns}
	tree, err := x.node(expr, "")
	if err == nil && x.used != prog.NumParams {
		err = fmt.Errorf("gp: export of %s places %d of %d parameters", m.Kernel, x.used, prog.NumParams)
	}
	return tree, err
}

func exportedMean(m *Model) exportMean {
	out := exportMean{LeastSquares: m.Mean.LeastSquares, Basis: []exportBasis{}}
	for j, f := range m.Mean.Basis {
		b := exportBasis{Type: strings.TrimPrefix(f.Group, "mean_"), Coefficient: m.Mean.Coefficients[j], Column: &f.Column}
		switch f.Group {
		case mean.Constant:
			b.Column = nil
		case mean.Power:
			b.Power = f.Index
		case mean.Bump:
			b.Centre, b.Width = &f.Centre, &f.Width
		}
		out.Basis = append(out.Basis, b)
	}
	return out
}

func exportedNoise(m *Model) exportNoise {
	out := exportNoise{Variance: m.NoiseVariance, Jitter: m.Jitter, GroupColumn: m.Noise.GroupColumn, KnownColumn: m.Noise.Column}
	for i, label := range m.Noise.Labels {
		if out.Groups == nil {
			out.Groups = map[string]float64{}
		}
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
		out.Type, out.Family, out.Parameters = "leaf", e.Family.Name, map[string]any{}
		out.Columns, out.Formula = x.positions(e), e.Formula()
		out.number(e)
	case kernel.Sum:
		out.Type, parts = "sum", e
	case kernel.Product:
		out.Type, parts = "product", e
	}
	for i, part := range parts {
		child, err := x.node(part, childPrefix(prefix, i))
		if err != nil {
			return nil, err
		}
		out.Children = append(out.Children, child)
	}
	x.place(out, prefix)
	if l, ok := e.(*kernel.Leaf); ok && !slices.Contains(plainFamilies, l.Family.Name) {
		var err error
		out.Features, out.Operations, err = compiled(l, x.labels, out.Parameters)
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

// childPrefix returns the path of the i-th term or factor in names of parameters.
func childPrefix(prefix string, i int) string { return fmt.Sprintf("%sk%d.", prefix, i+1) }

// positions returns a leaf's columns as positions in X.
func (x *exporter) positions(l *kernel.Leaf) []int {
	if l.Dims == nil {
		return kernel.Columns(len(x.labels))
	}
	var out []int
	for _, label := range l.Dims {
		for pos, c := range x.labels {
			if c == label {
				out = append(out, pos)
			}
		}
	}
	return out
}
