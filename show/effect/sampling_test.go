package effect

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"gpfit/gp"
	"gpfit/internal/matrixrows"
	"gpfit/internal/testcheck"
	"gpfit/mean"
	"gpfit/show/plotting"
)

// seasoned returns a model of the columns "unused" and "hour", of which it uses the second, with 100 rows in [0, 1].
func seasoned(text string, theta []float64, waves ...mean.Function) *gp.Model {
	m := &gp.Model{Kernel: text, Theta: theta, Columns: []int{1}, FeatureNames: []string{"unused", "hour"}, Mean: gp.Mean{Basis: waves},
		Scaling: gp.Scaling{XMean: []float64{0}, XScale: []float64{1}, YScale: 1}, Y: make([]float64, 100)}
	for i := range 100 {
		m.X = append(m.X, math.Mod(0.6180339887*float64(i), 1))
	}
	m.X[0], m.X[1] = 0, 1
	return m
}

// TestSample compares lines and envelopes with functions at 50,000 equally spaced values.
func TestSample(t *testing.T) {
	wave := func(turns float64) func(x float64) float64 {
		return func(x float64) float64 { return math.Sin(2 * math.Pi * turns * x) }
	}
	for name, c := range map[string]struct {
		text  string
		theta []float64
		f     func(x float64) float64
		shows string
	}{
		"smooth":            {"rbf", []float64{0.3, 1}, wave(1), "line"},
		"20 turns":          {"periodic", []float64{1, 1.0 / 20, 1}, wave(20), "line"},
		"unknown turns":     {"rbf", []float64{0.3, 1}, wave(61), "line"},
		"many unknown":      {"rbf", []float64{0.3, 1}, wave(1199), "strips"},
		"1000 turns":        {"periodic", []float64{1, 1.0 / 1000, 1}, func(x float64) float64 { return x * wave(1000)(x) }, "strips"},
		"5000 narrow turns": {"periodic", []float64{0.2, 1.0 / 5000, 1}, func(x float64) float64 { return math.Exp(20 * (wave(5000)(x) - 1)) }, "strips"},
		"two seasons":       {"cosine*cosine", []float64{1.0 / 2000, 1.0 / 311, 1}, func(x float64) float64 { return wave(2000)(x) + 2*wave(311)(x) }, "strips"},
		"noise":             {"matern12", []float64{1e-5, 1}, func(x float64) float64 { return math.Sin(1e9*x*x+1e10*x) * math.Exp(10*math.Sin(1e11*x)-10) }, "nothing"},
		"nothing":           {"periodic", []float64{1, 1.0 / 1000, 1}, func(x float64) float64 { return 3 }, "line"},
	} {
		m := seasoned(c.text, c.theta)
		v := testcheck.Get(Columns(m))(t)[0]
		at := func(values []float64) []float64 {
			return testcheck.Slice(len(values), func(i int) float64 { return c.f(values[i]) })
		}
		s := testcheck.Get(v.Sample(m, 61, func(values []float64) ([][]float64, error) { return [][]float64{at(values)}, nil }))(t)
		if s.Values == nil {
			if c.shows != "nothing" || !strings.Contains(s.Why, "no picture along hour") {
				t.Errorf("%s: %s", name, s.Why)
			}
			continue
		}
		grid := matrixrows.Spaced(0, 1, 50_001)
		want, y := at(grid), at(s.Values)
		allowed := 0.02*(slices.Max(want)-slices.Min(want)) + 1e-9
		switch l := s.Layers("", y, y, y)[1].(type) {
		case *plotting.Line:
			far := 0.0
			for i, x := range grid {
				place := x * float64(len(l.X)-1)
				k := min(int(place), len(l.X)-2)
				far = max(far, math.Abs(want[i]-l.Y[k]-(place-float64(k))*(l.Y[k+1]-l.Y[k])))
			}
			if far > allowed || c.shows != "line" {
				t.Errorf("%s: a line of %d is %v off", name, len(l.X), far)
			}
		case *plotting.Band:
			for i, x := range grid {
				k := 2 * min(int(x*120), 119)
				if off := max(l.Lower[k]-want[i], want[i]-l.Upper[k]); off > allowed || c.shows != "strips" {
					t.Fatalf("%s: the function is %v outside of strip %d", name, off, k/2)
				}
			}
			if len(l.X) != 240 || slices.Max(l.Upper) > slices.Max(y) {
				t.Errorf("%s: %d edges", name, len(l.X))
			}
		}
	}
}

// TestStep checks the step of models whose column is not the first of the table.
func TestStep(t *testing.T) {
	for _, c := range []struct {
		text  string
		theta []float64
		waves []mean.Function
		want  float64
	}{
		{"rbf", []float64{0.3, 1}, nil, 0.15},
		{"rbf*periodic", []float64{0.3, 2, 0.04, 1}, nil, 0.04 / 16},
		{"rbf*periodic", []float64{0.3, 0.1, 0.04, 1}, nil, 0.04 * 0.1 / (2 * math.Pi) / 2},
		{"matern12", []float64{0.3, 1}, []mean.Function{{Group: mean.Sine, Width: 0.2, Period: 0.2}}, 0.2 / 16},
		{"linear", []float64{1}, nil, math.Inf(1)},
	} {
		m := seasoned(c.text, c.theta, c.waves...)
		v := testcheck.Get(Columns(m))(t)[0]
		testcheck.Within(t, 1/v.Step(m), 1/c.want, 1e-12/c.want, fmt.Sprint(c.text, c.theta))
	}
}
