package gp

import (
	"fmt"
	"slices"

	"gpfit/internal/code"
	"gpfit/kernel"
)

// pairOperation computes a value of a pair of points from earlier ones. Op is the name
// of its function; examples/EXPORT.md lists them.
type pairOperation struct {
	Op string `json:"op"`
	// Of holds the indices in the list of the operations whose values it uses.
	Of []int `json:"of,omitempty"`
	// Feature belongs to "feature", Coefficients and Constant to "sum", Powers to
	// "product", Exponent to "power" and Number to "number"; "decay" also has
	// Coefficients.
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

var operationNames = map[code.Op]string{
	code.Exp: "exp", code.Log: "log", code.LogOrZero: "log_or_0", code.Log1p: "log1p", code.Sqrt: "sqrt", code.RootInverse: "inverse_sqrt",
	code.Sine: "sin_turns", code.Cosine: "cos_turns", code.Tanh: "tanh", code.Arcsine: "asin", code.Abs: "abs", code.Positive: "positive", code.Step: "step",
}

// compiled returns the features and operations of the value of a leaf on columns with
// labels, at its parameters.
func compiled(l *kernel.Leaf, labels []int, parameters map[string]any) ([]pairFeature, []pairOperation, error) {
	prog, err := kernel.Compile(l, labels)
	if err != nil {
		return nil, nil, err
	}
	w := operationWriter{prog: prog, theta: leafTheta(prog, parameters), places: map[code.ID]int{}}
	w.uniforms = make([]float64, len(prog.List.Values))
	need := prog.List.Needed(prog.Value)
	prog.List.Uniforms(w.uniforms, w.theta, need)
	for id := range prog.List.Values {
		if v := &prog.List.Values[id]; need[id] && !v.Uniform {
			if err := w.add(code.ID(id), v); err != nil {
				return nil, nil, err
			}
		}
	}
	if prog.List.At(prog.Value).Uniform {
		w.out = append(w.out, pairOperation{Op: "number", Number: &w.uniforms[prog.Value]})
	}
	var features []pairFeature
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
	places map[code.ID]int
	out    []pairOperation
}

func (w *operationWriter) add(id code.ID, v *code.Value) error {
	o := pairOperation{Op: operationNames[v.Op]}
	for _, a := range v.Args {
		o.Of = append(o.Of, w.places[a])
	}
	switch v.Op {
	case code.Feature:
		o.Op, o.Feature = "feature", &v.Index
	case code.Sum:
		o.Op = "sum"
		for _, c := range v.Coef {
			o.Coefficients = append(o.Coefficients, w.uniforms[c])
		}
		if v.Offset != code.None {
			o.Constant = &w.uniforms[v.Offset]
		}
	case code.Product:
		o.Op, o.Powers = "product", v.Powers
	case code.Power:
		o.Op, o.Exponent = "power", &w.uniforms[v.Coef[0]]
	case code.Decay:
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
