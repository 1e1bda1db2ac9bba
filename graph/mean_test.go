package graph_test

import (
	"context"
	"errors"
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"

	"gpfit/device"
	"gpfit/graph"
	"gpfit/internal/must"
	"gpfit/mean"
)

// withMean gives a specification a mean function.
func withMean(text string) func(*graph.Spec) {
	return func(s *graph.Spec) {
		e, err := mean.Parse(text, nil)
		if err != nil {
			panic(err)
		}
		if s.Mean, err = e.Basis(s.X, nil); err != nil {
			panic(err)
		}
	}
}

func freeMean(text string) func(*graph.Spec) {
	return func(s *graph.Spec) {
		withMean(text)(s)
		s.MeanFree = true
	}
}

var means = []string{"constant", "linear", "poly(3)", "bumps(4, dims=1)", "poly(2, dims=0) + bumps(3)", "linear(dims=1) + bumps(1, dims=0)"}

// TestMeanGradient compares gradients with central differences, both with the
// coefficients as parameters and with generalised least squares, where they vary
// with Σ.
func TestMeanGradient(t *testing.T) {
	for _, text := range means {
		t.Run("free "+text, func(t *testing.T) {
			newFixture(t, "rbf(ard)", 40, 2, freeMean(text)).checkGradient(t)
		})
		t.Run("gls "+text, func(t *testing.T) {
			f := newFixture(t, "rbf(ard)", 40, 2, withMean(text))
			if got := len(f.obj.Names()); got != 4 {
				t.Fatalf("parameters %v: the coefficients are none", f.obj.Names())
			}
			f.checkGradient(t)
		})
	}
}

// dense returns the covariance matrix of a fixture with the isotropic rbf, computed
// element by element.
func dense(f *fixture, lengthscale, variance float64, noise func(i int) float64) *mat.SymDense {
	n := f.spec.X.N
	sigma := mat.NewSymDense(n, nil)
	for i := range n {
		for j := i; j < n; j++ {
			d2 := 0.0
			for c := range f.spec.X.D {
				u := f.spec.X.Column(c)[i] - f.spec.X.Column(c)[j]
				d2 += u * u
			}
			v := variance * math.Exp(-d2/(2*lengthscale*lengthscale))
			if i == j {
				v += noise(i)
			}
			sigma.SetSym(i, j, v)
		}
	}
	return sigma
}

// TestGLS compares value, coefficients and their covariance with explicit inverses
// and an explicit H.
func TestGLS(t *testing.T) {
	const n = 60
	f := newFixture(t, "rbf", n, 2, withMean("poly(2, dims=0)"))
	z := []float64{0.2, -0.3, -1.5}
	got := f.value(t, z)
	sigma := dense(f, math.Exp(z[0]), math.Exp(z[1]), func(int) float64 { return math.Exp(z[2]) })
	h := mat.NewDense(n, 3, nil)
	for i, x := range f.spec.X.Column(0) {
		h.SetRow(i, []float64{x, x * x, 1})
	}
	var inv, m, covariance, hs mat.Dense
	must.Do(t, inv.Inverse(sigma))
	hs.Mul(h.T(), &inv)
	m.Mul(&hs, h)
	must.Do(t, covariance.Inverse(&m))
	y := mat.NewVecDense(n, f.spec.Y)
	var beta, r, hy, hb, alpha mat.VecDense
	hy.MulVec(&hs, y)
	beta.MulVec(&covariance, &hy)
	hb.MulVec(h, &beta)
	r.SubVec(y, &hb)
	alpha.MulVec(&inv, &r)
	logDet, _ := mat.LogDet(sigma)
	fit := mat.Dot(&r, &alpha) / 2
	want := fit + logDet/2 + n/2.*math.Log(2*math.Pi)
	// The condition number of Σ is about 1e3 here.
	const tol = 1e-11
	if math.Abs(got-want) > tol*math.Abs(want) {
		t.Errorf("NLML %v, want %v", got, want)
	}
	if terms := f.obj.Terms(); math.Abs(terms.DataFit-fit) > tol*fit || math.Abs(terms.DataFits[0]-fit) > tol*fit {
		t.Errorf("data fit %v, want %v", terms.DataFit, fit)
	}
	b, c := f.obj.Mean()
	for j := range 3 {
		if math.Abs(b[j]-beta.AtVec(j)) > tol*math.Abs(beta.AtVec(j)) {
			t.Errorf("β_%d = %v, want %v", j, b[j], beta.AtVec(j))
		}
		for k := range 3 {
			scale := math.Sqrt(covariance.At(j, j) * covariance.At(k, k))
			if math.Abs(c[3*j+k]-covariance.At(j, k)) > tol*scale {
				t.Errorf("covariance of β_%d, β_%d is %v, want %v", j, k, c[3*j+k], covariance.At(j, k))
			}
		}
	}
	_, _, a := f.obj.Theta()
	for i := range n {
		if math.Abs(a[i]-alpha.AtVec(i)) > 1e-10*mat.Norm(&alpha, math.Inf(1)) {
			t.Errorf("α_%d = %v, want %v", i, a[i], alpha.AtVec(i))
		}
	}
	// With the coefficients as parameters at β̂, the value and the gradient by θ
	// are the same, and the gradient by β is zero.
	free := newFixture(t, "rbf", n, 2, freeMean("poly(2, dims=0)"))
	v, grad := free.gradient(t, append(append([]float64(nil), z...), b...))
	_, glsGrad := f.gradient(t, z)
	if math.Abs(v-got) > tol*math.Abs(got) {
		t.Errorf("NLML %v, with β̂ as parameters %v", got, v)
	}
	for i, g := range grad {
		want := 0.0
		if i < len(glsGrad) {
			want = glsGrad[i]
		}
		if math.Abs(g-want) > 1e-9*(1+math.Abs(want)) {
			t.Errorf("∂/∂%s = %v with β̂ as parameters, want %v", free.obj.Names()[i], g, want)
		}
	}
}

// TestGLSWork checks that the coefficients cost right-hand sides but no
// factorisation.
func TestGLSWork(t *testing.T) {
	const n = 300
	f := newFixture(t, "rbf", n, 2, withMean("poly(2) + bumps(5, dims=0)"))
	plain := newFixture(t, "rbf", n, 2, nil)
	z := f.z(2)
	f.gradient(t, z)
	plain.gradient(t, z)
	q := float64(len(f.spec.Mean))
	if extra := f.ws.Work().Flops - plain.ws.Work().Flops; extra < 0 || extra > 2.5*n*n*q {
		t.Errorf("%v operations more than without a mean, want about 2n²q = %v", extra, 2*n*n*q)
	}
	before := f.ws.Work().Flops
	f.gradient(t, z)
	if again := f.ws.Work().Flops - before; again != 0 {
		t.Errorf("%v operations for what is known", again)
	}
}

// TestGLSCondition checks that functions of full rank that a singular Σ cannot
// distinguish are an error from which an optimiser can step back.
func TestGLSCondition(t *testing.T) {
	f := newFixture(t, "rbf", 50, 1, withMean("linear"))
	for i := range f.spec.Mean { // nearly equal functions
		f.spec.Mean[i] = mean.Function{Group: mean.Bump, Index: i, Centre: 1e-9 * float64(i), Width: 1}
	}
	obj, err := graph.Build(f.ws, f.spec)
	if err != nil {
		t.Fatal(err)
	}
	_, err = obj.Value(context.Background(), []float64{0, 0, 0})
	var ce *mean.ConditionError
	if !errors.As(err, &ce) || !device.IsNotPD(err) {
		t.Errorf("error %v, want a ConditionError", err)
	}
}

// TestTargets checks that the objective and the gradient of several targets are the
// sums over the targets, and that each has its own coefficients.
func TestTargets(t *testing.T) {
	const n = 40
	for name, change := range map[string]func(*graph.Spec){
		"zero": func(*graph.Spec) {}, "gls": withMean("linear"),
		"groups": func(s *graph.Spec) { withMean("constant")(s); noises["groups"](s) },
	} {
		t.Run(name, func(t *testing.T) {
			extra := func(s *graph.Spec, k int) []float64 {
				y := make([]float64, n)
				for i := range y {
					y[i] = math.Cos(float64(k*i)) + s.X.Column(0)[i]
				}
				return y
			}
			f := newFixture(t, "rbf(ard)", n, 2, func(s *graph.Spec) {
				change(s)
				s.Y = append(append(append([]float64(nil), s.Y...), extra(s, 1)...), extra(s, 2)...)
			})
			f.checkGradient(t)
			z := f.z(1)
			v, grad := f.gradient(t, z)
			terms := f.obj.Terms()
			beta, covariance := f.obj.Mean()
			sum, sumGrad := 0.0, make([]float64, len(z))
			for k := range 3 {
				one := newFixture(t, "rbf(ard)", n, 2, func(s *graph.Spec) { change(s); s.Y = f.spec.Y[k*n : (k+1)*n] })
				w, g := one.gradient(t, z)
				sum += w
				for i := range g {
					sumGrad[i] += g[i]
				}
				if fit := one.obj.Terms().DataFit; math.Abs(terms.DataFits[k]-fit) > 1e-12*fit {
					t.Errorf("data fit of target %d is %v, alone %v", k, terms.DataFits[k], fit)
				}
				b, c := one.obj.Mean()
				for j := range b {
					if math.Abs(beta[k*len(b)+j]-b[j]) > 1e-11*(1+math.Abs(b[j])) || c[j] != covariance[j] {
						t.Errorf("coefficient %d of target %d is %v, alone %v", j, k, beta[k*len(b)+j], b[j])
					}
				}
			}
			if math.Abs(v-sum) > 1e-12*math.Abs(sum) || math.Abs(terms.NLML()-v) > 1e-12*math.Abs(v) {
				t.Errorf("objective %v, sum over targets %v", v, sum)
			}
			for i := range grad {
				if math.Abs(grad[i]-sumGrad[i]) > 1e-10*(1+math.Abs(sumGrad[i])) {
					t.Errorf("gradient %v, sum over targets %v", grad, sumGrad)
				}
			}
		})
	}
	f := newFixture(t, "rbf", n, 2, freeMean("constant"))
	f.spec.Y = append(f.spec.Y, f.spec.Y...)
	if _, err := graph.Build(f.ws, f.spec); err == nil {
		t.Error("free coefficients accepted for two targets")
	}
}
