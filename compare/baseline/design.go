package baseline

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/mat"
)

// Design says how columns enter a linear method. By default there is an intercept, which
// is not penalized, and every column is centred and divided by its population standard
// deviation, as ESL (section 3.4.1) and glmnet do, so that a penalty treats columns in
// different units alike. Weights of fitted models are in original units nevertheless.
//
// scikit-learn's Ridge, Lasso and BayesianRidge do not scale columns: set Unscaled for
// their results.
type Design struct {
	// NoIntercept leaves out the intercept. Columns are then not centred, and a column
	// is divided by its root mean square.
	NoIntercept bool
	// Unscaled leaves the columns in their units.
	Unscaled bool
}

// Scaling maps columns to the columns of a design: (x − mean)/scale. A constant column becomes
// 0 if it is centred.
type Scaling struct {
	Mean     []float64 `json:"mean"`
	Scale    []float64 `json:"scale"`
	Constant []bool    `json:"constant"`
}

// constantColumn is the share of a column's mean below which its deviation is rounding.
const constantColumn = 1e-14

func newScaling(x mat.Matrix, how Design) Scaling {
	n, d := x.Dims()
	s := Scaling{make([]float64, d), make([]float64, d), make([]bool, d)}
	column := make([]float64, n)
	for c := range d {
		mat.Col(column, c, x)
		if !how.NoIntercept {
			s.Mean[c] = mean(column)
			for i := range column {
				column[i] -= s.Mean[c]
			}
		}
		size := blas64.Nrm2(blas64.Vector{N: n, Inc: 1, Data: column}) / math.Sqrt(float64(n))
		s.Constant[c] = !(size > constantColumn*math.Abs(s.Mean[c]))
		s.Scale[c] = 1
		if !how.Unscaled && !s.Constant[c] {
			s.Scale[c] = size
		}
	}
	return s
}

// check returns an error unless the scaling is one of d columns.
func (s Scaling) check(d int) error {
	positive := !slices.ContainsFunc(s.Scale, func(v float64) bool { return !(v > 0) })
	return check(len(s.Mean) == d, len(s.Scale) == d, len(s.Constant) == d, positive)
}

// apply returns the scaled columns of x.
func (s Scaling) apply(x mat.Matrix) *mat.Dense {
	n, d := x.Dims()
	out := mat.NewDense(n, d, nil)
	for i := range n {
		row := out.RawRowView(i)
		for c := range row {
			if !s.Constant[c] {
				row[c] = (x.At(i, c) - s.Mean[c]) / s.Scale[c]
			}
		}
	}
	return out
}

// original converts weights of scaled columns, and the mean of the targets where all of
// these are 0, to weights and intercept in original units.
func (s Scaling) original(weights []float64, level float64) ([]float64, float64) {
	out := make([]float64, len(weights))
	for c, w := range weights {
		if !s.Constant[c] {
			out[c] = w / s.Scale[c]
			level -= out[c] * s.Mean[c]
		}
	}
	return out, level
}

// mean returns the mean in two passes, so that the mean of equal numbers is that number.
func mean(v []float64) float64 {
	first := 0.0
	for _, u := range v {
		first += u / float64(len(v))
	}
	rest := 0.0
	for _, u := range v {
		rest += (u - first) / float64(len(v))
	}
	return first + rest
}

// ones returns the column of the intercept, or nil without one.
func (d Design) ones(n int) *mat.Dense {
	if d.NoIntercept {
		return nil
	}
	return mat.NewDense(n, 1, slices.Repeat([]float64{1}, n))
}
