package kernel

import (
	"encoding/json"
	"math"
	"os"
	"strconv"
	"testing"

	"gpfit/internal/must"
)

// TestReference compares values and derivatives with 50-digit arithmetic
// (testdata/reference.py). Errors are relative to the value or, where terms cancel,
// to the signal variance.
func TestReference(t *testing.T) {
	text := must.Get(os.ReadFile("testdata/reference.json"))(t)
	var pairs []struct {
		Kernel      string
		X, Y, Theta []float64
		Value       string
		Gradient    []string
	}
	must.Do(t, json.Unmarshal(text, &pairs))
	number := func(text string) float64 {
		v := must.Get(strconv.ParseFloat(text, 64))(t)
		return v
	}
	worst := 0.0
	for _, c := range pairs {
		p := mustCompile(t, c.Kernel, len(c.X))
		e, grad := NewEvaluator(p), make([]float64, p.NumParams)
		e.Bind(c.Theta)
		e.RowGradient(grad, []float64{1}, NewPoints(c.X, 1, p.D), 0, NewPoints(c.Y, 1, p.D), 0, 1)
		size := 1 + math.Abs(number(c.Value))
		check := func(what string, got, want float64) {
			// The parameters already have errors of a few units in the last place.
			if err := math.Abs(got-want) / (size + math.Abs(want)); err > 1e-14 {
				t.Errorf("%s at %v, %v, θ = %v: %s %v, want %v", c.Kernel, c.X, c.Y, c.Theta, what, got, want)
			} else {
				worst = max(worst, err)
			}
		}
		check("k", eval(p, c.Theta, c.X, c.Y), number(c.Value))
		for i, name := range p.Names() {
			check("∂k/∂log "+name, grad[i], number(c.Gradient[i]))
		}
	}
	t.Logf("%d pairs, largest error %.1e", len(pairs), worst)
}
