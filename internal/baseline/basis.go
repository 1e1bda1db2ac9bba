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
