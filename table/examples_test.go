package table

import (
	"math"
	"reflect"
	"strconv"
	"testing"

	"gpfit/internal/testcheck"
)

// TestExamples reads the tables in examples, which README.md there describes.
func TestExamples(t *testing.T) {
	const dir = "../examples/"
	inputs := []string{"year", "season_cos", "season_sin"}

	fit := testcheck.Get(Read(dir+"co2.csv", Options{}))(t)
	checkInvariants(t, fit)
	if fit.N != 521 || !reflect.DeepEqual(fit.FeatureNames, inputs) || fit.TargetName != "co2" || fit.Warnings != nil {
		t.Errorf("co2.csv: %d rows, features %q, target %q, warnings %q", fit.N, fit.FeatureNames, fit.TargetName, fit.Warnings)
	}
	if fit.Line[0] != 6 || fit.Y[0] != 316.1 || fit.Y[520] != 371.02 {
		t.Errorf("co2.csv: first row on line %d, target from %v to %v", fit.Line[0], fit.Y[0], fit.Y[520])
	}

	next := testcheck.Get(Read(dir+"co2_new.csv", Options{NoTarget: true, Target: fit.TargetName, Features: fit.FeatureNames}))(t)
	checkInvariants(t, next)
	if next.N != 24 || next.Y != nil {
		t.Errorf("co2_new.csv: %d rows, target %q", next.N, next.TargetName)
	}

	// Time increases by whole months, and the season is the fraction of the year.
	last := 0.0
	for _, x := range [][]float64{fit.X, next.X} {
		for ; len(x) > 0; x = x[3:] {
			if months := (x[0] - last) * 12; months < 0.9999 || last > 0 && math.Abs(months-math.Round(months)) > 1e-4 {
				t.Errorf("%v follows %v", x[0], last)
			}
			last = x[0]
			if sin, cos := math.Sincos(2 * math.Pi * x[0]); math.Abs(x[1]-cos) > 1e-5 || math.Abs(x[2]-sin) > 1e-5 {
				t.Errorf("year %v: season %v, %v", x[0], x[1], x[2])
			}
		}
	}

	for col, want := range []int{60, 52} {
		mask := testcheck.Get(ReadMask(dir+"co2_mask.csv", strconv.Itoa(col), Options{}))(t)
		heldOut := 0
		for i, m := range mask {
			if m {
				heldOut++
			}
			if col == 0 && m != (fit.X[3*i] > 1997) {
				t.Errorf("forecast is %v for %v", m, fit.X[3*i])
			}
		}
		if len(mask) != fit.N || heldOut != want {
			t.Errorf("mask %d: %d of %d rows held out, want %d of %d", col, heldOut, len(mask), want, fit.N)
		}
	}
}
