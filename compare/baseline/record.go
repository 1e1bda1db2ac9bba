package baseline

import (
	"errors"
	"fmt"
	"slices"

	"gonum.org/v1/gonum/mat"
)

// Stored is a fitted model in JSON. One of its members is set. Everything is in the
// units of the columns and the target of the fit, except where a scale says how columns are scaled.
type Stored struct {
	Average *Average       `json:"average,omitempty"`
	Linear  *LinearModel   `json:"linear,omitempty"`
	Bayes   *BayesianModel `json:"bayesian_linear,omitempty"`
	Spline  *SplineModel   `json:"spline,omitempty"`
	Kernel  *KernelModel   `json:"kernel,omitempty"`
	Basis   *Functions     `json:"basis,omitempty"` // with Bayes, whose columns are the functions
}

// Store returns a model of this package as data.
func Store(model Model) (*Stored, error) {
	switch m := model.(type) {
	case *Average:
		return &Stored{Average: m}, nil
	case *LassoModel:
		return &Stored{Linear: &m.LinearModel}, nil
	case *LinearModel:
		return &Stored{Linear: m}, nil
	case *BayesianModel:
		return &Stored{Bayes: m}, nil
	case *SplineModel:
		return &Stored{Spline: m}, nil
	case *KernelModel:
		return &Stored{Kernel: m}, nil
	case *BasisModel:
		return &Stored{Bayes: m.BayesianModel, Basis: m.Functions}, nil
	}
	return nil, errors.New("a model of a method in Go has no record")
}

// Model returns the model for rows of d columns. An error says that its parts do not fit together.
func (r *Stored) Model(d int) (Model, error) {
	var model interface {
		Model
		// complete checks the parts that JSON has, for rows of d columns, and makes the others.
		complete(d int) error
	}
	switch {
	case r.Average != nil:
		model = r.Average
	case r.Linear != nil:
		model = r.Linear
	case r.Bayes != nil && r.Basis != nil:
		model = &BasisModel{r.Basis, r.Bayes}
	case r.Bayes != nil:
		model = r.Bayes
	case r.Spline != nil:
		model = r.Spline
	case r.Kernel != nil:
		model = r.Kernel
	default:
		return nil, errors.New("the model is of a kind that this gpfit does not know: use a newer gpfit")
	}
	if err := model.complete(d); err != nil {
		return nil, err
	}
	return model, nil
}

// errParts is the error of a model whose parts do not fit together.
var errParts = errors.New("the parts of the model do not fit together")

// check returns an error unless all conditions hold.
func check(conditions ...bool) error {
	if slices.Contains(conditions, false) {
		return errParts
	}
	return nil
}

// Matrix is a matrix as JSON holds it, row by row.
type Matrix struct {
	Rows    int       `json:"rows"`
	Columns int       `json:"columns"`
	Values  []float64 `json:"values"`
}

func matrixOf(a *mat.Dense) *Matrix {
	out := &Matrix{}
	out.Rows, out.Columns = a.Dims()
	for i := range out.Rows {
		out.Values = append(out.Values, a.RawRowView(i)...)
	}
	return out
}

// is reports whether the matrix has the given rows and columns; a negative number stands for any.
func (m *Matrix) is(rows, columns int) bool {
	return m != nil && m.Rows >= 1 && m.Columns >= 1 && (rows < 0 || m.Rows == rows) && (columns < 0 || m.Columns == columns) &&
		len(m.Values)/m.Rows == m.Columns && len(m.Values)%m.Rows == 0
}

// dense returns the matrix, which shares its numbers.
func (m *Matrix) dense() *mat.Dense { return mat.NewDense(m.Rows, m.Columns, m.Values) }

// known returns a number, nil for one that is not finite.
func known(v float64) *float64 {
	if !finite(v) {
		return nil
	}
	return &v
}

// Describe says in a few words what the model is.
func (r *Stored) Describe() string {
	switch {
	case r.Average != nil:
		return "the mean of the training targets"
	case r.Linear != nil:
		return "linear regression with a penalty"
	case r.Basis != nil && r.Basis.Terms != nil:
		return "Bayesian linear regression on products of columns"
	case r.Basis != nil:
		return fmt.Sprintf("Bayesian linear regression on %d bumps", r.Basis.Centres.Rows)
	case r.Bayes != nil:
		return "Bayesian linear regression"
	case r.Spline != nil:
		return fmt.Sprintf("%s spline of each column, added up", r.Spline.Kind)
	}
	return "kernel ridge regression with the kernel rbf"
}
