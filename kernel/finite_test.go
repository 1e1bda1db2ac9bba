package kernel_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gpfit/internal/kerneltest"
	"gpfit/internal/must"
	"gpfit/kernel"
)

// TestFiniteFeatures checks that the features of a kernel make up its covariances.
func TestFiniteFeatures(t *testing.T) {
	const n, d = 9, 2
	rng := rand.New(rand.NewPCG(1, 14))
	rows := make([]float64, n*d)
	for i := range rows {
		rows[i] = rng.NormFloat64()
	}
	x := kernel.NewPoints(rows, n, d)
	for _, c := range []struct {
		text  string
		names []string
	}{
		{"linear", []string{"a", "b"}},
		{"linear(ard)", []string{"a", "b"}},
		{"constant", []string{"1"}},
		{"poly", []string{"1", "a", "b", "a^2", "a*b", "b^2"}},
		{"poly(2, offset=0)", []string{"a^2", "a*b", "b^2"}},
		{"poly(3, offset=0, dims=1)", []string{"b^3"}},
		{"poly(3, ard, dims=1)", []string{"1", "b", "b^2", "b^3"}},
		{"linear*linear(ard)", []string{"a^2", "a*b", "b^2"}},
		{"(linear(dims=0) + constant)*linear(dims=1)", []string{"b", "a*b"}},
		{"cosine(dims=0)", []string{"cos(2pi*a/20)", "sin(2pi*a/20)"}},
		{"cosine", []string{"cos(2pi*(a/20+b/2))", "sin(2pi*(a/20+b/2))"}},
		{"cosine(dims=1)*linear(dims=1)", []string{"cos(2pi*b/2)*b", "sin(2pi*b/2)*b"}},
		{"formula((1 + dot)^2, dims=0)", []string{"1", "a", "a^2"}},
		{"formula(x*y, dims=0)", []string{"phi1"}},
		{"formula(exp(-(x - c)^2)*exp(-(y - c)^2), c=0.5, dims=0)", []string{"phi1"}},
		{"formula(exp(-(x - 1)^2)*exp(-(y - 1)^2) + exp(-(x + 1)^2)*exp(-(y + 1)^2), dims=1)", []string{"phi1", "phi2"}},
		{"formula(sin(x)*sin(y), dims=0)*linear(dims=1)", []string{"b*phi1"}},
		{"rbf", nil}, {"linear*rbf", nil}, {"periodic", nil}, {"rbf + linear", nil},
		{"formula(exp(-(x - y)^2), dims=0)", nil},
		{"formula(x + y, dims=0)", nil},
		{"formula(dot - 1)", nil}, // no covariance
	} {
		prog := kerneltest.Program(t, c.text, d)
		theta := slices.Repeat([]float64{2}, prog.NumParams)
		f := must.Get(prog.FiniteFeatures(theta, x))(t)
		if f == nil {
			if c.names != nil {
				t.Errorf("%s: no features, want %v", c.text, c.names)
			}
			continue
		}
		var names []string
		for j := range f.Variances {
			names = append(names, f.Name(j, []string{"a", "b"}, []float64{10, 1}))
		}
		slices.Sort(names)
		want := slices.Sorted(slices.Values(c.names))
		if !slices.Equal(names, want) {
			t.Errorf("%s: features %v, want %v", c.text, names, want)
		}
		checkFeatures(t, c.text, prog, theta, f, x)
	}
	many := kerneltest.Program(t, "poly(100)", d)
	if _, err := many.FiniteFeatures([]float64{1, 1}, x); !errors.Is(err, kernel.ErrManyFeatures) {
		t.Errorf("poly(100): %v", err)
	}
}

func checkFeatures(t *testing.T, text string, prog *kernel.Program, theta []float64, f *kernel.FiniteFeatures, x *kernel.Points) {
	t.Helper()
	e, row, largest := kernel.NewEvaluator(prog), make([]float64, x.N), 0.0
	e.Bind(theta)
	values := make([][]float64, len(f.Variances))
	for j := range values {
		values[j] = f.Values(j, x)
	}
	for i := range x.N {
		e.Row(row, x, i, x, 0, x.N)
		largest = max(largest, math.Abs(row[i]))
		for k, want := range row {
			sum := 0.0
			for j, v := range f.Variances {
				sum += v * values[j][i] * values[j][k]
			}
			if math.Abs(sum-want) > 1e-12*max(largest, math.Abs(want)) {
				t.Errorf("%s: k(%d, %d) = %v, by features %v", text, i, k, want, sum)
				return
			}
		}
	}
}
