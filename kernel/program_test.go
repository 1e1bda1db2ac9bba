package kernel_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gpfit/internal/testcheck"
	"gpfit/kernel"
	"gpfit/kernel/kerneltest"
)

func normalPoints(rng *rand.Rand, n, d int) *kernel.Points {
	return kernel.NewPoints(testcheck.Slice(n*d, func(int) float64 { return rng.NormFloat64() }), n, d)
}

// bound returns an evaluator with its parameters.
func bound(p *kernel.Program, theta []float64) *kernel.Evaluator {
	e := kernel.NewEvaluator(p)
	e.Bind(theta)
	return e
}

// TestFiniteFeatures checks that the features of a kernel make up its covariances.
func TestFiniteFeatures(t *testing.T) {
	const n, d = 9, 2
	x := normalPoints(rand.New(rand.NewPCG(1, 14)), n, d)
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
		{"formula(exp(-c*xx)*exp(-c*yy), c=0.5, ard)", []string{"phi1"}},
		{"cosine(ard) + linear", []string{"cos(2pi*(a/20+b/2))", "sin(2pi*(a/20+b/2))", "a", "b"}},
		{"rbf", nil}, {"linear*rbf", nil}, {"periodic", nil}, {"rbf + linear", nil},
		{"formula(exp(-(x - y)^2), dims=0)", nil},
		{"formula(x + y, dims=0)", nil},
		{"formula(dot - 1)", nil}, // no covariance
	} {
		prog := kerneltest.Program(t, c.text, d)
		theta := slices.Repeat([]float64{2}, prog.NumParams)
		f := testcheck.Get(prog.FiniteFeatures(theta, x))(t)
		if f == nil {
			if c.names != nil {
				t.Errorf("%s: no features, want %v", c.text, c.names)
			}
			continue
		}
		names := testcheck.Slice(len(f.Variances), func(j int) string { return f.Name(j, []string{"a", "b"}, []float64{10, 1}) })
		slices.Sort(names)
		if want := slices.Sorted(slices.Values(c.names)); !slices.Equal(names, want) {
			t.Errorf("%s: features %v, want %v", c.text, names, want)
		}
		checkFeatures(t, c.text, prog, theta, f, x)
		for q := range theta {
			theta[q] = 0.7 + 0.2*float64(q)
		}
		checkFeatureSlopes(t, c.text, prog, theta, x)
	}
	many := kerneltest.Program(t, "poly(100)", d)
	if _, err := many.FiniteFeatures([]float64{1, 1}, x); !errors.Is(err, kernel.ErrManyFeatures) {
		t.Errorf("poly(100): %v", err)
	}
}

func checkFeatures(t *testing.T, text string, prog *kernel.Program, theta []float64, f *kernel.FiniteFeatures, x *kernel.Points) {
	t.Helper()
	e, row, largest := bound(prog, theta), make([]float64, x.N), 0.0
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

// checkFeatureSlopes compares the derivatives of covariances with what the derivatives of the features add up to.
func checkFeatureSlopes(t *testing.T, text string, prog *kernel.Program, theta []float64, x *kernel.Points) {
	t.Helper()
	f := testcheck.Get(prog.DifferentiableFeatures(theta, x))(t)
	params, r := prog.NumParams, len(f.Variances)
	values, slopes := make([][]float64, x.N), make([][]float64, x.N)
	for i := range x.N {
		values[i], slopes[i] = make([]float64, r), make([]float64, r*params)
		for j := range r {
			values[i][j] = 1
			for k, a := range f.Factors[j] {
				values[i][j] *= f.Atoms[a].Value(x, i)
				own := make([]float64, len(f.Atoms[a].Params))
				if len(own) == 0 {
					continue
				}
				f.Atoms[a].Slopes(own, x, i)
				for q, p := range f.Atoms[a].Params {
					for l, b := range f.Factors[j] {
						if l != k {
							own[q] *= f.Atoms[b].Value(x, i)
						}
					}
					slopes[i][j*params+p] += own[q]
				}
			}
		}
	}
	e, want := bound(prog, theta), make([]float64, params*x.N)
	for i := range x.N {
		e.RowDerivatives(want, x, i, x, 0, x.N)
		for k := range x.N {
			for p := range params {
				sum, size := 0.0, 0.0
				for j, v := range f.Variances {
					terms := []float64{v * slopes[i][j*params+p] * values[k][j], v * values[i][j] * slopes[k][j*params+p]}
					if f.Slopes[j] != nil {
						terms = append(terms, f.Slopes[j][p]*values[i][j]*values[k][j])
					}
					for _, v := range terms {
						sum, size = sum+v, size+math.Abs(v)
					}
				}
				if w := want[p*x.N+k]; !(math.Abs(sum-w) <= 1e-12*max(size, 1)) {
					t.Fatalf("%s: derivative of k(%d, %d) by %s is %v, by features %v", text, i, k, prog.Names()[p], w, sum)
				}
			}
		}
	}
}

// TestZeroOffset compares kernels with the offset 0 with formulas, and tests their derivatives.
func TestZeroOffset(t *testing.T) {
	const n, d = 8, 3
	x := normalPoints(rand.New(rand.NewPCG(5, 1)), n, d)
	for text, formula := range map[string]string{
		"poly(2, offset=0)":              "formula(dot^2)",
		"poly(5, dims=[2, 0], offset=0)": "formula(dot^5, dims=[2, 0])",
		"poly(3, ard, offset=0)":         "formula(dot^3, ard)",
		"poly(1, offset=0)":              "formula(dot)",
		"arcsine(offset=0)":              "formula(2/pi*asin(2*dot/a^2/sqrt((1 + 2*xx/a^2)*(1 + 2*yy/a^2))), a=1)",
		"rbf + poly(2, offset=0)*linear": "rbf + formula(dot^2)*linear",
	} {
		p, q := kerneltest.Program(t, text, d), kerneltest.Program(t, formula, d)
		if strings.Contains(strings.Join(p.Names(), " "), "offset") || len(p.Zeros) != 1 || !strings.HasSuffix(p.Zeros[0], "offset") {
			t.Errorf("%s: parameters %v, zeros %v", text, p.Names(), p.Zeros)
		}
		theta := testcheck.Slice(p.NumParams, func(i int) float64 { return 0.8 + 0.1*float64(i) })
		other := theta
		if q.NumParams > p.NumParams { // a formula with ard has a signal variance besides
			other = append(slices.Clone(theta), 1)
		}
		a, b := bound(p, theta), bound(q, other)
		got, want, top := make([]float64, n), make([]float64, n), make([]float64, n)
		b.Diagonal(top, x, 0, n)
		for i := range n {
			a.Row(got, x, i, x, 0, n)
			b.Row(want, x, i, x, 0, n)
			for j := range got {
				// √(k(x, x)k(x', x')) is the size of the terms of k.
				if !(math.Abs(got[j]-want[j]) <= 1e-14*math.Sqrt(top[i]*top[j])) {
					t.Errorf("%s: k(x%d, x%d) = %v, the formula %v", text, i, j, got[j], want[j])
				}
			}
		}
		kerneltest.Expression(t, text, nil, d)
	}
}

// TestWithZero makes offsets of a text constants, by the names of the parameters.
func TestWithZero(t *testing.T) {
	for _, c := range []struct{ text, name, want string }{
		{"poly(2)", "offset", "poly(2, offset=0)"},
		{"poly(2, offset=3, signal_variance=2)", "offset", "poly(2, offset=0, signal_variance=2)"},
		{"poly + rbf*(linear + arcsine)", "k2.k2.k2.offset", "poly(2) + rbf*(linear + arcsine(offset=0))"},
		{"poly + poly", "k2.offset", "poly(2) + poly(2, offset=0)"},
		{"poly + poly", "offset", ""}, {"rbf", "lengthscale", ""}, {"poly", "signal_variance", ""}, {"poly", "k1.offset", ""},
	} {
		e := testcheck.Get(kernel.Parse(c.text))(t)
		before := e.String()
		got, ok := kernel.WithZero(e, c.name)
		if e.String() != before {
			t.Errorf("%s changed to %s", before, e)
		}
		want := c.want
		if want == "" {
			want = before
		}
		if ok != (c.want != "") || got.String() != want {
			t.Errorf("%s, %s: %s, %v; want %s", c.text, c.name, got, ok, want)
		}
		again, err := kernel.Parse(got.String())
		if err != nil || again.String() != got.String() {
			t.Errorf("%s reads back as %v, %v", got, again, err)
		}
		prog, err := kernel.Compile(got, kernel.Columns(2))
		if err != nil || ok != (len(prog.Zeros) == 1 && prog.Zeros[0] == c.name) {
			t.Errorf("%s: zeros %v, %v", got, prog.Zeros, err)
		}
	}
}

// TestQuadraticGradient compares QuadraticGradient with the sum over all pairs.
func TestQuadraticGradient(t *testing.T) {
	const n, d = 12, 3
	rng := rand.New(rand.NewPCG(8, 8))
	x, v, theta := normalPoints(rng, n, d), normalPoints(rng, n, 1).X, normalPoints(rng, 8, 1).X
	for text, bilinear := range map[string]bool{
		"linear": true, "linear(ard)": true, "constant": true, "linear + constant": true, "constant*linear": true, "linear(dims=0) + linear(ard, dims=[1, 2]) + constant": true,
		"poly(1)": true, "poly(2)": false, "linear*linear": false, "rbf": false, "rbf + linear": false, "rbf*linear": false,
	} {
		prog := kerneltest.Program(t, text, d)
		if got := prog.Bilinear(); got != bilinear {
			t.Errorf("%s is bilinear: %v, expected %v", text, got, bilinear)
		}
		if !bilinear {
			continue
		}
		natural := testcheck.Slice(prog.NumParams, func(i int) float64 { return math.Exp(0.3 * theta[i]) })
		e := bound(prog, natural)
		got, want := make([]float64, prog.NumParams), make([]float64, prog.NumParams)
		e.QuadraticGradient(got, -0.5, v, x)
		for i := range n {
			adj := testcheck.Slice(n, func(j int) float64 { return -0.5 * v[i] * v[j] })
			e.RowGradient(want, adj, x, i, x, 0, n)
		}
		testcheck.Near(t, text, got, want, 1e-13, 1e-13)
	}
}

// TestQuadraticGradientOrthogonal checks that nothing is left for a vector that is
// orthogonal to the columns in use and to constants, however long it is.
func TestQuadraticGradientOrthogonal(t *testing.T) {
	x := kernel.NewPoints([]float64{1, 0.3, 2, 1e9, 3, -0.7, 4, 1.9}, 4, 2)
	v := []float64{1e20, -2e20, 1e20, 0}
	for _, text := range []string{"linear(dims=0)", "linear(ard, dims=0) + constant", "poly(1, dims=0)"} {
		prog := kerneltest.Program(t, text, 2)
		theta := testcheck.Slice(prog.NumParams, func(i int) float64 { return 0.7 + 0.1*float64(i) })
		e := bound(prog, theta)
		grad := make([]float64, prog.NumParams)
		e.QuadraticGradient(grad, 1, v, x)
		testcheck.Near(t, text, grad, make([]float64, prog.NumParams), 0, 0)
	}
}

// TestHomogeneous checks that the weighted derivatives sum to the covariance.
func TestHomogeneous(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	const n, d = 6, 3
	x := normalPoints(rng, n, d)
	for _, text := range []string{
		"rbf", "rbf(ard)+matern32", "linear", "linear(ard)", "poly(2)", "poly(3, ard)", "constant+rbf*periodic",
		"rbf*(matern12+linear)", "linear(ard)*(rbf+constant)", "(rbf+linear)*(rq+constant)+cosine", "wendland(2)", "gibbs", "arcsine",
		"formula(s*exp(-r/a), s=1, a=1)",
	} {
		prog := kerneltest.Program(t, text, d)
		weights := prog.Homogeneous(x)
		if weights == nil {
			t.Errorf("%s: not homogeneous", text)
			continue
		}
		theta := testcheck.Slice(prog.NumParams, func(int) float64 { return math.Exp(0.5 * rng.NormFloat64()) })
		sum, size := 0.0, 0.0
		e := kernel.NewEvaluator(prog)
		for i, w := range weights {
			if w == 0 {
				continue
			}
			const h = 1e-5
			for sign := -1.0; sign <= 1; sign += 2 {
				at := append([]float64(nil), theta...)
				at[i] *= math.Exp(sign * h)
				sum += w * sign * total(e, x, at) / (2 * h)
			}
		}
		if size = total(e, x, theta); math.Abs(sum-size) > 1e-7*(1+math.Abs(size)) {
			t.Errorf("%s: weighted derivatives %v, covariance %v", text, sum, size)
		}
	}
}

// total is the sum of the covariances of different weights.
func total(e *kernel.Evaluator, x *kernel.Points, theta []float64) float64 {
	e.Bind(theta)
	row, sum := make([]float64, x.N), 0.0
	for i := range x.N {
		e.Row(row, x, i, x, 0, x.N)
		for j, v := range row {
			sum += v * (1 + 0.1*float64(i*j))
		}
	}
	return sum
}
