package problem

import (
	"cmp"
	"fmt"
	"math"

	"gpfit/gp"
	"gpfit/table/feature"
)

// Data is a table of inputs and targets in original units.
type Data struct {
	// X holds n rows of d features, row-major. Y holds the n targets, or n×T numbers,
	// column-major, for the T targets of TargetNames, which share kernel and noise.
	X, Y []float64
	N, D int
	// FeatureNames and TargetName appear in messages and in the model file. The
	// defaults are x0, x1, … and y.
	FeatureNames []string
	TargetName   string
	// Encoding says how the columns of a table became the features; the model keeps it, to
	// read later tables in the same way. nil means that the features are its columns.
	Encoding *feature.Encoding `hash:"omitzero"`
	// TargetNames names several targets; nil means one target, TargetName.
	TargetNames []string
	// NoiseVariance holds the known noise variance of each row, in squared units of
	// the target; the estimated variance comes on top. NoiseGroup holds a label for
	// each row; rows with the same label share an estimated variance. Both may be
	// nil. NoiseColumn and NoiseGroupColumn, their columns' names, appear in messages
	// and in the model file; the defaults are noise_variance and noise_group.
	NoiseVariance                 []float64
	NoiseGroup                    []string
	NoiseColumn, NoiseGroupColumn string
	// Weight holds a weight for each row, from 0; nil means 1. The noise variance of a row is the
	// estimated one divided by its weight, as for the mean of that many observations; rows of weight
	// 0 are left out. It excludes NoiseVariance. WeightColumn is the column's name; the default is weight.
	Weight       []float64 `hash:"omitzero"`
	WeightColumn string    `hash:"omitzero"`
	// Group holds a label for each row; nil means none. Rows with the same label stay together in
	// hold-outs and folds. GroupColumn is the column's name; the default is group.
	Group       []string `hash:"omitzero"`
	GroupColumn string   `hash:"omitzero"`
	// Row holds the number of each row, from 0, in the larger table that the rows
	// come from; nil if they are the whole table.
	Row []int
	// Test marks the rows to hold out and score; nil means none.
	Test []bool
	// Reading says what was read of the table; nil if the data come from elsewhere.
	Reading *feature.Reading `hash:"omitzero"`
	// Warnings holds warnings from reading the table, which reports repeat.
	Warnings []string
}

// checked returns the data with default names in place of missing ones. It returns a
// [*DataError] if an input or target is not finite.
func (d Data) checked() (Data, error) {
	d.FeatureNames = d.Names()
	if d.TargetName == "" && d.TargetNames == nil {
		d.TargetName = "y"
	}
	if d.NoiseVariance != nil {
		d.NoiseColumn = cmp.Or(d.NoiseColumn, "noise_variance")
	}
	if d.NoiseGroup != nil {
		d.NoiseGroupColumn = cmp.Or(d.NoiseGroupColumn, "noise_group")
	}
	if d.Weight != nil {
		d.WeightColumn = cmp.Or(d.WeightColumn, "weight")
	}
	if d.Group != nil {
		d.GroupColumn = cmp.Or(d.GroupColumn, "group")
	}
	return d, d.checkNumbers()
}

// Names returns the names of the features, or default ones.
func (d Data) Names() []string {
	if d.FeatureNames != nil {
		return d.FeatureNames
	}
	names := make([]string, d.D)
	for c := range names {
		names[c] = fmt.Sprintf("x%d", c)
	}
	return names
}

// held returns rows of the table as held-out rows.
func (d Data) held(rows []int) (x, y []float64, noise gp.RowNoise) {
	d = d.Rows(rows)
	return d.X, d.Y, gp.RowNoise{Known: d.NoiseVariance, Group: d.NoiseGroup, Weight: d.Weight}
}

// RowNumber returns the number of row i in the larger table that the rows come from.
func (d Data) RowNumber(i int) int {
	if d.Row != nil {
		return d.Row[i]
	}
	return i
}

// checkNumbers returns a [*DataError] for an input or target that is not finite.
func (d Data) checkNumbers() error {
	for i, v := range d.X {
		if NotFinite(v) {
			return &DataError{fmt.Sprintf("the feature %q of row %d (from 0) is %v, not a finite number", d.FeatureNames[i%d.D], i/d.D, v)}
		}
	}
	for i, v := range d.Y {
		if NotFinite(v) {
			return &DataError{fmt.Sprintf("the target of row %d (from 0) is %v, not a finite number", i%d.N, v)}
		}
	}
	return nil
}

// checkShape returns a [*DataError] if the length of a part does not match N and D.
func (d Data) checkShape() error {
	if d.N < 0 || d.D < 1 || len(d.X) != d.N*d.D {
		return &DataError{fmt.Sprintf("%d input values for %d rows of %d features", len(d.X), d.N, d.D)}
	}
	if targets := max(1, len(d.TargetNames)); len(d.Y) != d.N*targets || len(d.TargetNames) == 1 {
		return &DataError{fmt.Sprintf("%d target values for %d rows and the targets %q", len(d.Y), d.N, d.TargetNames)}
	}
	if d.FeatureNames != nil && len(d.FeatureNames) != d.D {
		return &DataError{fmt.Sprintf("%d feature names for %d features", len(d.FeatureNames), d.D)}
	}
	if d.Encoding != nil {
		if err := d.Encoding.Check(d.FeatureNames); err != nil {
			return &DataError{err.Error()}
		}
	}
	for _, part := range []struct {
		what  string
		given bool
		rows  int
	}{
		{"the split mask", d.Test != nil, len(d.Test)},
		{"the list of row numbers", d.Row != nil, len(d.Row)},
		{"the list of noise variances", d.NoiseVariance != nil, len(d.NoiseVariance)},
		{"the list of weights", d.Weight != nil, len(d.Weight)},
		{"the list of groups", d.Group != nil, len(d.Group)},
		{"the list of noise groups", d.NoiseGroup != nil, len(d.NoiseGroup)},
	} {
		if part.given && part.rows != d.N {
			return &DataError{fmt.Sprintf("%s has %d rows, but the table has %d", part.what, part.rows, d.N)}
		}
	}
	return nil
}

func NotFinite(v float64) bool { return math.IsNaN(v) || math.IsInf(v, 0) }

// DataError reports a table that gpfit cannot fit. The command line maps it to exit code 10.
type DataError struct{ Msg string }

func (e *DataError) Error() string { return e.Msg }
