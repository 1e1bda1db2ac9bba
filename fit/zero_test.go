package fit

import (
	"bytes"
	"context"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"gpfit/fit/problem"
	"gpfit/gp"
	"gpfit/graph"
	"gpfit/internal/must"
)

// quadratics returns a table without noise in its inputs, whose target is a quadratic form.
func quadratics(n int) problem.Data {
	rng := rand.New(rand.NewPCG(8, 2))
	d := problem.Data{N: n, D: 2, FeatureNames: []string{"a", "b"}, TargetName: "y"}
	for range n {
		a, b := rng.NormFloat64(), rng.NormFloat64()
		d.X = append(d.X, a, b)
		d.Y = append(d.Y, a*a-0.5*a*b+0.3*b*b+0.2*rng.NormFloat64())
	}
	return d
}

// primal is the Bayesian regression on a², √2·ab and b²: R&W (2006), section 2.1.2 and
// eq. 2.11. It returns the negative log evidence and the mean at the rows.
func primal(t *testing.T, d problem.Data, variance, noise float64) (nlml float64, mean []float64) {
	t.Helper()
	phi := mat.NewDense(d.N, 3, nil)
	for i := range d.N {
		a, b := d.X[2*i], d.X[2*i+1]
		phi.SetRow(i, []float64{a * a, math.Sqrt2 * a * b, b * b})
	}
	y := mat.NewVecDense(d.N, d.Y)
	precision := mat.NewSymDense(3, nil)
	precision.SymOuterK(1/noise, phi.T())
	for i := range 3 {
		precision.SetSym(i, i, precision.At(i, i)+1/variance)
	}
	var factor mat.Cholesky
	if !factor.Factorize(precision) {
		t.Fatal("not positive definite")
	}
	var b, w, f mat.VecDense
	b.MulVec(phi.T(), y)
	b.ScaleVec(1/noise, &b)
	must.Do(t, factor.SolveVecTo(&w, &b))
	f.MulVec(phi, &w)
	fit := (mat.Dot(y, y)/noise - mat.Dot(&b, &w)) / 2
	size := (factor.LogDet() + 3*math.Log(variance) + float64(d.N)*math.Log(2*math.Pi*noise)) / 2
	return fit + size, f.RawVector().Data
}

// TestZeroOffset compares a process with the kernel (x·x′)² with the regression on the
// features of degree two: evidence, gradient and predictions, also after the model was
// written and read, and by the formula of the kernel.
func TestZeroOffset(t *testing.T) {
	const variance, noise, tol = 0.7, 0.05, 1e-10
	d := quadratics(60)
	want, mean := primal(t, d, variance, noise)
	at := func(more ...problem.Assignment) problem.Options {
		return problem.Options{Kernel: "poly(2)", Standardize: gp.StandardizeNone, Fix: append(more,
			problem.Assignment{Name: "signal_variance", Value: variance, Given: true}, problem.Assignment{Name: graph.NoiseVariance, Value: noise, Given: true})}
	}
	fixed := at(problem.Assignment{Name: "offset", Value: 0, Given: true})
	text := at()
	text.Kernel = "poly(2, offset=0)"
	formula := at()
	formula.Kernel = "formula(dot^2)"
	for _, o := range []problem.Options{fixed, text, formula} {
		out := mustFit(t, d, o)
		if r := out.Report; math.Abs(r.NLML-want) > tol*math.Abs(want) {
			t.Errorf("%s: NLML %v, by regression on features %v", r.Kernel, r.NLML, want)
		}
		var file bytes.Buffer
		must.Do(t, modelOf(t, out).Write(&file))
		path := filepath.Join(t.TempDir(), "zero.gpfit")
		must.Do(t, os.WriteFile(path, file.Bytes(), 0o600))
		m := must.Get(gp.Load(path))(t)
		again := must.Get(m.Condition(context.Background(), backend))(t)
		t.Cleanup(func() { again.Close() })
		for _, p := range []*gp.Posterior{out.Posterior(), again} {
			got := must.Get(p.Predict(context.Background(), d.X, d.N))(t)
			for i, v := range got.Mean {
				if math.Abs(v-mean[i]) > tol*(1+math.Abs(mean[i])) {
					t.Errorf("%s, row %d: %v, by regression on features %v", o.Kernel, i, v, mean[i])
				}
			}
		}
	}
	report := mustFit(t, d, fixed).Report
	if v, ok := report.Parameters["offset"]; !ok || v != 0 || !slices.Equal(report.Constants, []string{"offset"}) || report.Kernel != "poly(2, offset=0)" {
		t.Errorf("report: kernel %s, offset %v, constants %v", report.Kernel, v, report.Constants)
	}
	if line := report.Text(); !strings.Contains(line, "offset                             0               0  constant\n") {
		t.Errorf("the text lacks the constant:\n%s", line)
	}
	// The gradient by the other parameters, against differences of the evidence by features.
	r := evaluate(t, d, problem.Options{Kernel: "poly(2, offset=0)", Standardize: gp.StandardizeNone,
		Set: []problem.Assignment{{Name: "signal_variance", Value: variance, Given: true}, {Name: graph.NoiseVariance, Value: noise, Given: true}}})
	const h = 1e-5
	for name, f := range map[string]func(h float64) float64{
		"signal_variance":   func(h float64) float64 { v, _ := primal(t, d, variance*math.Exp(h), noise); return v },
		graph.NoiseVariance: func(h float64) float64 { v, _ := primal(t, d, variance, noise*math.Exp(h)); return v },
	} {
		// The difference cancels to 1e-5 of the evidence, and its own error is h².
		if slope := (f(h) - f(-h)) / (2 * h); math.Abs(r.GradientLog[name]-slope) > 1e-7*(1+math.Abs(slope)) {
			t.Errorf("∂/∂log %s = %v, central difference %v", name, r.GradientLog[name], slope)
		}
	}
}

// TestZeroOffsetFrom fits from a model whose offset is the constant 0.
func TestZeroOffsetFrom(t *testing.T) {
	d := quadratics(40)
	m := modelOf(t, mustFit(t, d, problem.Options{Kernel: "poly(2) + rbf", Fix: []problem.Assignment{{Name: "k1.offset", Value: 0, Given: true}}}))
	again := mustPrepare(t, d, problem.Options{From: m})
	if again.Kernel() != "poly(2, offset=0) + rbf" || len(again.Params.Warnings) > 0 {
		t.Errorf("kernel %s, warnings %v", again.Kernel(), again.Params.Warnings)
	}
	free := mustPrepare(t, d, problem.Options{From: m, Kernel: "poly(2) + rbf"})
	if w := strings.Join(free.Params.Warnings, "; "); !strings.Contains(w, "no value of k1.offset") {
		t.Errorf("warnings %q", w)
	}
	if fixed := mustPrepare(t, d, problem.Options{Kernel: "poly(2, offset=0)", Fix: []problem.Assignment{{Name: "offset"}}}); fixed.Kernel() != "poly(2, offset=0)" {
		t.Errorf("kernel %s", fixed.Kernel())
	}
}

// TestZeroOffsetErrors checks that only a fixed offset may be 0.
func TestZeroOffsetErrors(t *testing.T) {
	d := quadratics(20)
	zero := []problem.Assignment{{Name: "offset", Value: 0, Given: true}}
	for word, o := range map[string]problem.Options{
		"option set offset=0: a free offset cannot start at 0, because a fit varies its logarithm: option fix offset=0, or offset=0 in the kernel, makes it a constant": {Kernel: "poly(2)", Set: zero},
		"option set offset: offset is the constant 0 of the kernel": {Kernel: "poly(2, offset=0)", Set: []problem.Assignment{{Name: "offset", Value: 2, Given: true}}},
		"option bounds offset: offset is the constant 0":            {Kernel: "poly(2)", Fix: zero, Bounds: []problem.Interval{{Name: "offset", Lo: 1, Hi: 2}}},
		"option prior offset: offset is the constant 0":             {Kernel: "poly(2)", Fix: zero, Priors: []problem.ParameterPrior{{Name: "offset", Density: density(t, "gamma(2, 3)")}}},
		"option tie k1.offset: k1.offset is the constant 0":         {Kernel: "poly(2) + poly(3)", Fix: []problem.Assignment{{Name: "k1.offset", Value: 0, Given: true}}, Ties: []problem.Tie{{Name: "k2.offset", Source: "k1.offset"}}},
		"option fix offset: there is no such parameter":             {Kernel: "rbf", Fix: zero},
		"option fix signal_variance=0: must be a positive number":   {Kernel: "poly(2)", Fix: []problem.Assignment{{Name: "signal_variance", Value: 0, Given: true}}},
		"option fix alpha=0: must be a positive number":             {Kernel: "rq", Fix: []problem.Assignment{{Name: "alpha", Value: 0, Given: true}}},
	} {
		wantOption(t, d, o, word)
	}
}
