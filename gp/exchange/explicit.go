package exchange

import (
	"encoding/binary"
	"errors"
	"slices"

	"gonum.org/v1/gonum/mat"

	"gpfit/gp"
	"gpfit/internal/transform"
	"gpfit/kernel"
)

// Explicit has the numbers with which a small program, such as the script of a page, predicts the
// function at a row, as JSON. examples/EXPORT.md describes features, operations and basis functions. Lists of
// bytes hold numbers of float64, little-endian. Everything but the scaling is in scaled units.
type Explicit struct {
	N int `json:"n"`
	// Columns are the positions of the columns in use among the features.
	Columns []int     `json:"columns"`
	XMean   []float64 `json:"x_mean"`
	XScale  []float64 `json:"x_scale"`
	// XTransforms are the transforms of the columns before they are scaled, if there are any.
	XTransforms []*transform.Map `json:"x_transforms,omitempty"`
	// X holds the training inputs, row-major.
	X          []byte           `json:"x"`
	Features   []pairFeature    `json:"features"`
	Operations []pairOperation  `json:"operations"`
	Targets    []explicitTarget `json:"targets"`
	// LeastSquares says that the coefficients of the mean add to the variance.
	LeastSquares bool `json:"least_squares"`
	// Factor holds the lower triangle of the Cholesky factor of Σ by rows; nil without variances.
	Factor []byte `json:"factor,omitempty"`
}

// explicitTarget is a target's part of the prediction.
type explicitTarget struct {
	Name   string        `json:"name"`
	YMean  float64       `json:"y_mean"`
	YScale float64       `json:"y_scale"`
	Alpha  []byte        `json:"alpha"`
	Mean   []exportBasis `json:"mean"`
}

// NewExplicit returns the numbers of a model, with the factor if variances are wanted. The cost is n³/3
// operations then. Models of a transformed target, and of a method that keeps a state with the model, have no such form.
func NewExplicit(m *gp.Model, variances bool) (*Explicit, error) {
	if m.Scaling.Transform != nil || m.State.Method != "" {
		return nil, errors.New("a model of local experts or of a transformed target has no explicit form")
	}
	prog, err := m.Program()
	if err != nil {
		return nil, err
	}
	e := &Explicit{N: m.N(), Columns: m.Columns, XMean: m.Scaling.XMean, XScale: m.Scaling.XScale, XTransforms: m.Scaling.XTransforms, LeastSquares: m.Mean.LeastSquares}
	e.X = littleEndian(m.Scaling.Inputs(m.X))
	if e.Features, e.Operations, err = operationsOf(prog, m.Theta); err != nil {
		return nil, err
	}
	for t, name := range m.TargetNames() {
		one := m.Target(t)
		e.Targets = append(e.Targets, explicitTarget{name, one.Scaling.YMean, one.Scaling.YScale, littleEndian(one.Alpha), exportedMean(one).Basis})
	}
	if variances {
		e.Factor, err = lowerFactor(m, prog)
	}
	return e, err
}

// lowerFactor returns the lower triangle of the factor of Σ by rows.
func lowerFactor(m *gp.Model, prog *kernel.Program) ([]byte, error) {
	n, x, noise := m.N(), m.Points(), m.NoiseDiagonal()
	row := kernel.NewEvaluator(prog)
	row.Bind(m.Theta)
	sigma := mat.NewSymDense(n, nil)
	for i, upper := range slices.Collect(slices.Chunk(sigma.RawSymmetric().Data, n)) {
		row.Row(upper[i:], x, i, x, i, n)
		upper[i] += noise[min(i, len(noise)-1)]
	}
	var factor mat.Cholesky
	if !factor.Factorize(sigma) {
		return nil, errors.New("the covariance is too close to singular for an explicit form")
	}
	var lower mat.TriDense
	factor.LTo(&lower)
	var packed []float64
	for i := range n {
		packed = append(packed, lower.RawTriangular().Data[i*n:i*n+i+1]...)
	}
	return littleEndian(packed), nil
}

func littleEndian(values []float64) []byte {
	out, _ := binary.Append(nil, binary.LittleEndian, values) // numbers have no errors
	return out
}
