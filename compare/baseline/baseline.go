package baseline

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"
)

// Method is a regression method. Fit learns from n rows of d columns and their n
// targets. It keeps neither x nor y. Numbers that are not finite are an error.
type Method interface {
	Fit(x mat.Matrix, y []float64) (Model, error)
}

// Model predicts the targets of rows of the same d columns. It is safe for concurrent use.
type Model interface {
	Predict(x mat.Matrix) (Prediction, error)
}

// Tuned is a model with parameters that the fit chose or was given.
type Tuned interface {
	// Parameters returns them by name, in the units of the columns that the fit had.
	Parameters() map[string]float64
}

// Prediction holds the mean and, if the method has a density, the variance of a new
// target for every row. The variance includes the noise. It is nil without a density.
type Prediction struct {
	Mean, Variance []float64
}

// valueError reports a number that is not finite. row and column count from 0; column is −1
// for the target.
func valueError(row, column int, value float64) error {
	what := "target"
	if column >= 0 {
		what = fmt.Sprintf("column %d", column)
	}
	return fmt.Errorf("row %d, %s is %v; fill in or leave out such rows", row, what, value)
}

// checkRows returns an error unless x has at least one row and one column and all its
// numbers are finite.
func checkRows(x mat.Matrix) error {
	if x == nil {
		return fmt.Errorf("there are no rows")
	}
	n, d := x.Dims()
	if n == 0 || d == 0 {
		return fmt.Errorf("%d rows of %d columns; at least one row and one column are needed", n, d)
	}
	for i := range n {
		for c := range d {
			if v := x.At(i, c); !finite(v) {
				return valueError(i, c, v)
			}
		}
	}
	return nil
}

// checkTable checks the data of a fit.
func checkTable(x mat.Matrix, y []float64) error {
	if err := checkRows(x); err != nil {
		return err
	}
	if n, _ := x.Dims(); len(y) != n {
		return fmt.Errorf("%d targets for %d rows", len(y), n)
	}
	for i, v := range y {
		if !finite(v) {
			return valueError(i, -1, v)
		}
	}
	return nil
}

// checkWidth checks rows to predict for, against the columns of the fit.
func checkWidth(x mat.Matrix, d int) error {
	if err := checkRows(x); err != nil {
		return err
	}
	if _, have := x.Dims(); have != d {
		return fmt.Errorf("rows of %d columns for a model of %d columns", have, d)
	}
	return nil
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// allFinite reports whether the results of a fit are numbers.
func allFinite(values ...float64) bool {
	return !slices.ContainsFunc(values, func(v float64) bool { return !finite(v) })
}

// errRange is the error of a fit whose results are not finite.
var errRange = fmt.Errorf("the numbers are too large or too small to compute with; change the units of the columns or the target")

// checkPenalties checks the numbers that a penalty is chosen from.
func checkPenalties(lambdas []float64) error {
	for i, v := range lambdas {
		if !finite(v) || v < 0 {
			return fmt.Errorf("the field Lambdas[%d] is %v; give a finite number, 0 or more", i, v)
		}
	}
	return nil
}
