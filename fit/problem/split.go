package problem

import (
	"cmp"
	"fmt"
	"slices"

	"gpfit/gp"
	"gpfit/internal/matrixrows"
)

// WithHoldOut returns the data with the rows marked that HoldOut of o holds out, as a fit
// with these options does. Errors: [*OptionError] and [*DataError].
func (d Data) WithHoldOut(o Options) (Data, error) {
	if err := d.checkShape(); err != nil {
		return d, err
	}
	d, _, err := o.holdOut(d)
	return d, err
}

// Folds divides the rows into folds, as fit.CrossValidate does, into blocks of consecutive
// rows if blocks is true. Errors: [*OptionError] and [*DataError].
func (d Data) Folds(cv CrossValidation, blocks bool) ([][]int, error) {
	if err := d.checkShape(); err != nil {
		return nil, err
	}
	if blocks && d.Group != nil {
		_, _, err := Options{Blocks: true}.holdOut(d)
		return nil, err
	}
	return divideRows(d.N, d.Group, d.GroupColumn, cv, blocks)
}

// Rows returns the data of some rows, in the given order.
func (d Data) Rows(rows []int) Data {
	n := d.N
	numbers := d.Row
	if numbers == nil {
		numbers = matrixrows.All(n)
	}
	d.X, d.Y, d.Row = matrixrows.Rows(d.X, rows, n, d.D), matrixrows.Rows(d.Y, rows, n, 1), matrixrows.Rows(numbers, rows, n, 1)
	d.NoiseVariance, d.NoiseGroup = matrixrows.Rows(d.NoiseVariance, rows, n, 1), matrixrows.Rows(d.NoiseGroup, rows, n, 1)
	d.Weight = matrixrows.Rows(d.Weight, rows, n, 1)
	d.Group, d.Test = matrixrows.Rows(d.Group, rows, n, 1), matrixrows.Rows(d.Test, rows, n, 1)
	d.N = len(rows)
	return d
}

// withWeight checks the weights and leaves out the rows of weight 0, with a warning.
func (d Data) withWeight() (Data, error) {
	if d.Weight == nil {
		return d, nil
	}
	var rows []int
	for i, w := range d.Weight {
		switch {
		case w != 0 && !(1e-150 < w && w < 1e150):
			return d, &DataError{fmt.Sprintf("the weight of row %d (from 1), column %q, is %v; it must be 0 or a number from 1e-150 to 1e150", d.RowNumber(i)+1, cmp.Or(d.WeightColumn, "weight"), w)}
		case w > 0:
			rows = append(rows, i)
		}
	}
	switch out := d.N - len(rows); {
	case len(rows) == 0:
		return d, &DataError{"all weights are zero: nothing is left to train on"}
	case out > 0:
		d = d.Rows(rows)
		d.Warnings = append(slices.Clip(d.Warnings), fmt.Sprintf("left out %d of %d rows: their weight is 0", out, d.N+out))
	}
	return d, nil
}

// ScaledRows are the training rows of data as the model of a fit sees them: with the columns
// that vary, scaled.
type ScaledRows struct {
	// X holds N rows of D columns, row-major; Y holds the targets.
	X, Y []float64
	N, D int
	// Columns are the columns in use, and Scaling how they and the target are scaled.
	Columns  []int
	Scaling  gp.Scaling
	Warnings []string
	features int
}

// Scaled returns the training rows of data with one target, scaled. Errors: [*DataError].
func (d Data) Scaled(how gp.Standardize) (*ScaledRows, error) {
	o := &resolved{Options: Options{Standardize: how}}
	err := o.readWords()
	if err == nil {
		err = d.checkShape()
	}
	if err != nil {
		return nil, err
	}
	s, err := newSample(d, o)
	if err == nil {
		err = s.CheckTargets()
	}
	if err != nil {
		return nil, err
	}
	scaling := s.Scalings[0]
	return &ScaledRows{
		X: scaling.Inputs(s.X), Y: s.Targets, N: s.N(), D: s.D(),
		Columns: s.Columns, Scaling: scaling, Warnings: s.warnings, features: d.D,
	}, nil
}

// Inputs returns the columns in use of other rows, which have all features in original
// units, scaled.
func (r *ScaledRows) Inputs(rows []float64) []float64 {
	return r.Scaling.Inputs(inUse(rows, r.features, r.Columns))
}
