package tuning

import (
	"math"
	"testing"

	"gpfit/fit/problem"
	"gpfit/internal/testcheck"
	"gpfit/internal/transform"
)

// TestModel checks that jobs with other transforms are other models, whose best evaluations do not mix.
func TestModel(t *testing.T) {
	d, names := problem.Data{N: 9, D: 1, X: []float64{0.1, 0.2, 0.3, 0.5, 0.9, 2, 5, 11, 40}, Y: []float64{1, 2, 4, 1, 3, 5, 2, 1, 7}}, map[string]bool{}
	for _, o := range []problem.Options{{}, {InputTransform: transform.Skewed}, {TargetTransform: transform.Log}} {
		o.Kernel = "rbf"
		names[New(testcheck.Get(problem.New(d, o))(t), problem.Events{}).model()] = true
	}
	if len(names) != 3 {
		t.Errorf("models %v", names)
	}
}

// TestDigitsLeft checks that each factor of ten of the condition number costs a digit of the 16 that a float64 has.
func TestDigitsLeft(t *testing.T) {
	testcheck.Within(t, DigitsLeft(1), 53*math.Log10(2), 1e-13, "digits at best")
	for _, condition := range []float64{1, 1e5, 1e15} {
		testcheck.Within(t, DigitsLeft(10*condition), DigitsLeft(condition)-1, 1e-12, "digits at %g", 10*condition)
	}
}

// TestCrewSize checks that a crew has a thread for each member, at least one, and fewer on more rows.
func TestCrewSize(t *testing.T) {
	for _, threads := range []int{1, 4, 64} {
		before := threads
		for rows := 0; rows < 4000; rows += 37 {
			size := CrewSize(rows, threads)
			if size < 1 || size > before {
				t.Fatalf("%d rows on %d threads: %d members, %d on fewer rows", rows, threads, size, before)
			}
			if size > 1 && size*8*rows*rows > sideBySideBytes {
				t.Errorf("%d rows: %d members take %d bytes", rows, size, size*8*rows*rows)
			}
			before = size
		}
		if before != 1 {
			t.Errorf("%d members on many rows", before)
		}
	}
}
