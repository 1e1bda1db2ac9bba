package baseline

import (
	"fmt"

	"gonum.org/v1/gonum/mat"
)

// Basis is regression on basis functions: a linear method on the columns φ_j(x) (PRML,
// section 3.1; ESL, section 5.1).
type Basis struct {
	// Expansion makes the basis functions; nil is [Polynomial] of degree 2.
	Expansion Expansion
	// Method learns their weights; nil is [BayesianLinear], which has a prior on them.
	// The method's [Design] applies to the basis functions.
	Method Method
}

// Expansion makes basis functions for the rows of a fit.
type Expansion interface {
	Expand(x mat.Matrix) (*Functions, error)
}

// Functions are basis functions of D columns.
type Functions struct {
	D int
	// Names describe the functions, with columns as x1, x2, ….
	Names []string
	// Values writes their values at a row to out, which has an element for each name.
	Values func(out, row []float64)
}

// BasisModel is a model of basis functions.
type BasisModel struct {
	// Functions are the basis functions, and Model is the model that the method fitted
	// on them, such as a [*BayesianModel].
	Functions *Functions
	Model     Model
}

// Fit fits a [*BasisModel].
func (m Basis) Fit(x mat.Matrix, y []float64) (Model, error) {
	if err := checkTable(x, y); err != nil {
		return nil, err
	}
	expansion, method := m.Expansion, m.Method
	if expansion == nil {
		expansion = Polynomial{}
	}
	if method == nil {
		method = BayesianLinear{}
	}
	functions, err := expansion.Expand(x)
	if err != nil {
		return nil, err
	}
	if len(functions.Names) == 0 {
		return nil, fmt.Errorf("baseline: the expansion has no basis functions")
	}
	values, err := functions.at(x)
	if err != nil {
		return nil, err
	}
	model, err := method.Fit(values, y)
	if err != nil {
		return nil, err
	}
	return &BasisModel{functions, model}, nil
}

// at returns the values at rows, n×len(Names).
func (f *Functions) at(x mat.Matrix) (*mat.Dense, error) {
	n, d := x.Dims()
	out, row := mat.NewDense(n, len(f.Names), nil), make([]float64, d)
	for i := range n {
		values := out.RawRowView(i)
		f.Values(values, mat.Row(row, i, x))
		for j, v := range values {
			if !finite(v) {
				return nil, fmt.Errorf("baseline: the basis function %s is %v at row %d; change the units of the columns", f.Names[j], v, i)
			}
		}
	}
	return out, nil
}

// Predict returns the predictions of the method's model.
func (m *BasisModel) Predict(x mat.Matrix) (Prediction, error) {
	if err := checkWidth(x, m.Functions.D); err != nil {
		return Prediction{}, err
	}
	values, err := m.Functions.at(x)
	if err != nil {
		return Prediction{}, err
	}
	return m.Model.Predict(values)
}
