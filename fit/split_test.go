package fit

import (
	"errors"
	"math"
	"slices"
	"testing"

	"gpfit/fit/problem"
	"gpfit/gp"
	"gpfit/internal/must"
)

// splitData is a table whose columns tell the rows apart.
func splitData() problem.Data {
	d := problem.Data{N: 6, D: 2, FeatureNames: []string{"a", "b"}}
	for i := range d.N {
		v := float64(i)
		d.X, d.Y = append(d.X, v, 7), append(d.Y, v*v)
		d.Group = append(d.Group, string(rune('p'+i/2)))
		d.NoiseVariance, d.Test = append(d.NoiseVariance, v/10), append(d.Test, i == 4)
	}
	return d
}

func TestDataRows(t *testing.T) {
	got := splitData().Rows([]int{5, 1, 4})
	if got.N != 3 || !slices.Equal(got.X, []float64{5, 7, 1, 7, 4, 7}) || !slices.Equal(got.Y, []float64{25, 1, 16}) ||
		!slices.Equal(got.Group, []string{"r", "p", "r"}) || !slices.Equal(got.NoiseVariance, []float64{0.5, 0.1, 0.4}) ||
		!slices.Equal(got.Test, []bool{false, false, true}) || !slices.Equal(got.Row, []int{5, 1, 4}) {
		t.Errorf("the rows are %+v", got)
	}
	if again := got.Rows([]int{2, 0}); !slices.Equal(again.Row, []int{4, 5}) {
		t.Errorf("the numbers of rows of rows are %v", again.Row)
	}
}

func TestScaledRows(t *testing.T) {
	r := must.Get(splitData().Scaled(gp.StandardizeXY))(t)
	// Column b is constant. The training rows are 0, 1, 2, 3 and 5, with mean 2.2.
	if r.N != 5 || r.D != 1 || !slices.Equal(r.Columns, []int{0}) || len(r.Warnings) != 1 {
		t.Fatalf("%d rows of %v, warnings %q", r.N, r.Columns, r.Warnings)
	}
	scale := math.Sqrt((2.2*2.2 + 1.2*1.2 + 0.2*0.2 + 0.8*0.8 + 2.8*2.8) / 5)
	in := r.Inputs([]float64{4, 7, 2.2, -1})
	if len(in) != 2 || math.Abs(in[0]-1.8/scale) > 1e-14 || math.Abs(in[1]) > 1e-14 {
		t.Errorf("the inputs are %v", in)
	}
	if math.Abs(r.X[0]+2.2/scale) > 1e-14 || math.Abs(r.Y[4]*r.Scaling.YScale+r.Scaling.YMean-25) > 1e-13 {
		t.Errorf("x %v, y %v", r.X, r.Y)
	}
	flat := splitData()
	flat.Y = make([]float64, flat.N)
	var data *problem.DataError
	if _, err := flat.Scaled(gp.StandardizeXY); !errors.As(err, &data) {
		t.Errorf("a constant target: %v", err)
	}
}

// TestDataFolds compares the folds of data with those of a job.
func TestDataFolds(t *testing.T) {
	d := splitData()
	d.Test = nil
	folds := must.Get(d.Folds(problem.CrossValidation{Folds: 3, Seed: 4}, false))(t)
	job := must.Get(Prepare(d, problem.Options{}, problem.Events{}))(t)
	want, err := job.Sample.Divide(problem.CrossValidation{Folds: 3, Seed: 4}, false)
	if err != nil || !slices.EqualFunc(folds, want, slices.Equal[[]int]) {
		t.Errorf("the folds are %v, those of a job %v (%v)", folds, want, err)
	}
	var option *problem.OptionError
	if _, err := d.Folds(problem.CrossValidation{Folds: 3}, true); !errors.As(err, &option) {
		t.Errorf("blocks and groups: %v", err)
	}
	if _, err := d.WithHoldOut(problem.Options{HoldOut: -1}); !errors.As(err, &option) {
		t.Errorf("a negative hold-out: %v", err)
	}
	held, err := d.WithHoldOut(problem.Options{HoldOut: 1})
	if count := len(slices.DeleteFunc(slices.Clone(held.Test), func(out bool) bool { return !out })); err != nil || count != 2 {
		t.Errorf("a hold-out of one group has %d rows, %v", count, err)
	}
}
