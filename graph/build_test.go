package graph_test

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gorgonia.org/gorgonia"

	"gpfit/device"
	"gpfit/graph"
	"gpfit/internal/testcheck"
	"gpfit/mean"
)

// TestTied checks that ties of whole parameters and of elements give the same value
// as equal numbers without ties, and the gradient of central differences.
func TestTied(t *testing.T) {
	for _, c := range []struct {
		name, kernel string
		ties         map[string]string
		names        string
	}{
		{"scalars", "rbf + matern32", map[string]string{"k2.lengthscale": "k1.lengthscale", "noise_variance": "k1.signal_variance"},
			"k1.lengthscale k1.signal_variance k2.signal_variance"},
		{"vectors", "rbf(ard) + matern32(ard)", map[string]string{"k2.lengthscale": "k1.lengthscale"},
			"k1.lengthscale[0] k1.lengthscale[1] k1.lengthscale[2] k1.signal_variance k2.signal_variance noise_variance"},
		{"an element of the same vector", "rbf(ard)", map[string]string{"lengthscale[2]": "lengthscale[0]"},
			"lengthscale[0] lengthscale[1] signal_variance noise_variance"},
		{"one free element", "rbf(ard)", map[string]string{"lengthscale[0]": "lengthscale[1]", "lengthscale[2]": "lengthscale[1]"},
			"lengthscale[1] signal_variance noise_variance"},
		{"all elements, one by one", "rbf(ard) + matern12", map[string]string{"k1.lengthscale[0]": "k2.lengthscale", "k1.lengthscale[1]": "k2.signal_variance", "k1.lengthscale[2]": "k2.lengthscale"},
			"k1.signal_variance k2.lengthscale k2.signal_variance noise_variance"},
		{"a scalar to an element", "rbf(ard) + matern12", map[string]string{"k2.lengthscale": "k1.lengthscale[1]"},
			"k1.lengthscale[0] k1.lengthscale[1] k1.lengthscale[2] k1.signal_variance k2.signal_variance noise_variance"},
		{"elements between partly tied vectors", "rbf(ard) + matern12(ard)", map[string]string{"k1.lengthscale[0]": "k2.lengthscale[1]", "k2.lengthscale[0]": "k1.lengthscale[2]"},
			"k1.lengthscale[1] k1.lengthscale[2] k1.signal_variance k2.lengthscale[1] k2.lengthscale[2] k2.signal_variance noise_variance"},
		{"a vector of one", "rbf(ard, dims=0) + matern12(ard, dims=1)", map[string]string{"k2.lengthscale[1]": "k1.lengthscale[0]"},
			"k1.lengthscale[0] k1.signal_variance k2.signal_variance noise_variance"},
	} {
		t.Run(c.name, func(t *testing.T) {
			derive := map[string]func(graph.Nodes) (*gorgonia.Node, error){}
			for name, source := range c.ties {
				derive[name] = graph.Tied(source)
			}
			f := newFixture(t, c.kernel, 25, 3, func(s *graph.Spec) {
				freeMean("constant")(s)
				s.Derive = derive
				s.Prior = graph.NegLogPrior(map[string]graph.Prior{strings.Fields(c.names)[0]: mustPrior(t, "gamma(2, 1)")})
			})
			if got := strings.Join(f.obj.Names(), " "); got != c.names+" mean_constant" {
				t.Fatalf("free parameters %s", got)
			}
			f.checkGradient(t)
			z := f.z(3)
			f.value(t, z)
			at := map[string]float64{}
			for i, name := range f.obj.Names() {
				at[name] = z[i]
			}
			plain := newFixture(t, c.kernel, 25, 3, freeMean("constant"))
			full := make([]float64, len(plain.obj.Names()))
			for i, name := range plain.obj.Names() {
				source := name
				if s, ok := c.ties[name]; ok {
					source = s
				} else if group, index, ok := strings.Cut(name, "["); ok && c.ties[group] != "" {
					source = c.ties[group] + "[" + index
				}
				full[i] = at[source]
			}
			if a, b := f.obj.Terms().NLML(), plain.value(t, full); math.Abs(a-b) > 1e-12*math.Abs(b) {
				t.Errorf("NLML %v with ties, %v with the same numbers", a, b)
			}
		})
	}
}

func TestTiedErrors(t *testing.T) {
	for what, ties := range map[string]map[string]string{
		"unknown source":        {"lengthscale[0]": "x"},
		"unknown element":       {"lengthscale[7]": "lengthscale[0]"},
		"source derived itself": {"lengthscale[0]": "lengthscale[1]", "lengthscale[1]": "lengthscale[0]"},
		"vector for an element": {"lengthscale[0]": "k2.lengthscale"},
	} {
		f := newFixture(t, "rbf(ard)", 10, 3, nil)
		spec := f.spec
		spec.Derive = map[string]func(graph.Nodes) (*gorgonia.Node, error){}
		for name, source := range ties {
			spec.Derive[name] = graph.Tied(source)
		}
		if what == "vector for an element" {
			spec.Derive["lengthscale[0]"] = func(n graph.Nodes) (*gorgonia.Node, error) { return n.Log["lengthscale"], nil }
		}
		if _, err := graph.Build(f.ws, spec); err == nil {
			t.Errorf("%s accepted", what)
		}
	}
}

func knownNoise(n int) []float64 {
	return testcheck.Slice(n, func(i int) float64 { return 0.05 * float64(i%4) })
}

func groupsOf(n int) []int { return testcheck.Slice(n, func(i int) int { return (i * i) % 5 % 3 }) }

func weightsOf(n int) []float64 {
	return testcheck.Slice(n, func(i int) float64 { return 0.3 + 0.7*float64(i%6) })
}

var noises = map[string]func(s *graph.Spec){
	"one":   func(*graph.Spec) {},
	"known": func(s *graph.Spec) { s.Noise.Known = knownNoise(s.X.N) },
	"known alone": func(s *graph.Spec) {
		s.Noise = graph.NoiseModel{None: true, Known: knownNoise(s.X.N)}
		for i := range s.Noise.Known {
			s.Noise.Known[i] += 0.02
		}
	},
	"groups": func(s *graph.Spec) {
		s.Noise = graph.NoiseModel{Labels: []string{"a", "b", "c"}, Group: groupsOf(s.X.N)}
	},
	"groups and known": func(s *graph.Spec) {
		s.Noise = graph.NoiseModel{Labels: []string{"a", "b", "c"}, Group: groupsOf(s.X.N), Known: knownNoise(s.X.N)}
	},
	"weights": func(s *graph.Spec) { s.Noise.Weights = weightsOf(s.X.N) },
	"all": func(s *graph.Spec) {
		s.Noise = graph.NoiseModel{Labels: []string{"a", "b", "c"}, Group: groupsOf(s.X.N), Known: knownNoise(s.X.N), Weights: weightsOf(s.X.N)}
	},
	"one group": func(s *graph.Spec) { s.Noise = graph.NoiseModel{Labels: []string{"all"}, Group: make([]int, s.X.N)} },
	"none":      func(s *graph.Spec) { s.Noise = graph.NoiseModel{None: true} },
}

// TestNoise compares gradients with central differences, and values with a dense
// computation whose diagonal is formed row by row.
func TestNoise(t *testing.T) {
	const n = 40
	for name, change := range noises {
		t.Run(name, func(t *testing.T) {
			text := "rbf"
			if name == "none" {
				text = "matern12" // well conditioned without noise
			}
			f := newFixture(t, text, n, 2, func(s *graph.Spec) { change(s); withMean("linear")(s) })
			f.checkGradient(t)
			if name == "none" {
				return
			}
			f = newFixture(t, text, n, 2, change)
			z := f.z(1)
			got := f.value(t, z)
			variance := func(i int) float64 {
				v, weight := 0.0, 1.0
				if f.spec.Noise.Known != nil {
					v = f.spec.Noise.Known[i]
				}
				if f.spec.Noise.Weights != nil {
					weight = f.spec.Noise.Weights[i]
				}
				switch {
				case f.spec.Noise.Group != nil:
					v += math.Exp(z[2+f.spec.Noise.Group[i]]) / weight
				case !f.spec.Noise.None:
					v += math.Exp(z[2]) / weight
				}
				return v
			}
			sigma := dense(f, math.Exp(z[0]), math.Exp(z[1]), variance)
			var inv mat.Dense
			testcheck.Do(t, inv.Inverse(sigma))
			y := mat.NewVecDense(n, f.spec.Y)
			logDet, _ := mat.LogDet(sigma)
			want := mat.Inner(y, &inv, y)/2 + logDet/2 + n/2.*math.Log(2*math.Pi)
			if math.Abs(got-want) > 1e-11*math.Abs(want) {
				t.Errorf("NLML %v, want %v", got, want)
			}
		})
	}
}

func TestNoiseNames(t *testing.T) {
	f := newFixture(t, "rbf", 40, 2, noises["groups"])
	if got, want := strings.Join(f.obj.Names(), " "), "lengthscale signal_variance noise_variance[a] noise_variance[b] noise_variance[c]"; got != want {
		t.Errorf("parameters %s, want %s", got, want)
	}
	z := f.z(0)
	f.value(t, z)
	if _, noise, _ := f.obj.Theta(); len(noise) != 3 || noise[1] != math.Exp(z[3]) {
		t.Errorf("noise variances %v", noise)
	}
	if names := newFixture(t, "matern12", 40, 2, noises["none"]).obj.Names(); len(names) != 2 {
		t.Errorf("parameters %v, want no noise", names)
	}
	// With the groups' variances tied to one parameter, the result equals the plain model.
	tied := newFixture(t, "rbf", 40, 2, func(s *graph.Spec) {
		noises["groups"](s)
		s.Derive = map[string]func(graph.Nodes) (*gorgonia.Node, error){
			graph.NoiseVariance: func(n graph.Nodes) (*gorgonia.Node, error) {
				ones := gorgonia.NewVector(n.Natural["signal_variance"].Graph(), gorgonia.Float64, gorgonia.WithShape(3), gorgonia.WithName("ones"), gorgonia.WithInit(gorgonia.Ones()))
				return gorgonia.Mul(ones, n.Natural["signal_variance"])
			},
		}
	})
	tied.checkGradient(t)
	plain := newFixture(t, "rbf", 40, 2, nil)
	z = tied.z(3)
	if v, w := tied.value(t, z), plain.value(t, []float64{z[0], z[1], z[1]}); math.Abs(v-w) > 1e-12*math.Abs(w) {
		t.Errorf("tied groups %v, one variance %v", v, w)
	}
}

func TestNoiseErrors(t *testing.T) {
	for what, change := range map[string]func(s *graph.Spec){
		"zero weight":  func(s *graph.Spec) { s.Noise.Weights = make([]float64, 20) },
		"short weight": func(s *graph.Spec) { s.Noise.Weights = []float64{1} },
		"idle weight":  func(s *graph.Spec) { s.Noise = graph.NoiseModel{None: true, Weights: weightsOf(20)} },
		"short":        func(s *graph.Spec) { s.Noise.Known = []float64{1} },
		"negative":     func(s *graph.Spec) { s.Noise.Known = knownNoise(20); s.Noise.Known[3] = -1 },
		"NaN":          func(s *graph.Spec) { s.Noise.Known = knownNoise(20); s.Noise.Known[3] = math.NaN() },
		"short group":  func(s *graph.Spec) { s.Noise = graph.NoiseModel{Labels: []string{"a"}, Group: []int{0}} },
		"label":        func(s *graph.Spec) { s.Noise = graph.NoiseModel{Labels: []string{"a"}, Group: groupsOf(20)} },
		"none": func(s *graph.Spec) {
			s.Noise = graph.NoiseModel{None: true, Labels: []string{"a"}, Group: make([]int, 20)}
		},
	} {
		f := newFixture(t, "rbf", 20, 2, nil)
		change(&f.spec)
		if _, err := graph.Build(f.ws, f.spec); err == nil {
			t.Errorf("%s: accepted", what)
		}
	}
	// Without noise, equal rows make the covariance singular.
	f := newFixture(t, "matern12", 40, 2, func(s *graph.Spec) {
		noises["none"](s)
		for c := range 2 {
			s.X.Column(c)[30] = s.X.Column(c)[2]
		}
	})
	if _, err := f.obj.Value(t.Context(), []float64{0, 0}); !device.IsNotPD(err) {
		t.Errorf("error %v, want a NotPDError", err)
	}
}

// withMean gives a specification a mean function.
func withMean(text string) func(*graph.Spec) {
	return func(s *graph.Spec) {
		e, err := mean.Parse(text, nil)
		if err == nil {
			s.Mean, err = e.Basis(s.X, nil)
		}
		if err != nil {
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

var means = []string{"constant", "linear", "poly(3)", "bumps(4, dims=1)", "poly(2, dims=0) + bumps(3)", "linear(dims=1) + bumps(1, dims=0)", "seasonal(1.3, 2, dims=1)"}

// TestMeanGradient compares gradients with central differences, both with the coefficients as
// parameters and with generalized least squares, where they vary with Σ.
func TestMeanGradient(t *testing.T) {
	for _, text := range means {
		t.Run("free "+text, func(t *testing.T) { newFixture(t, "rbf(ard)", 40, 2, freeMean(text)).checkGradient(t) })
		t.Run("gls "+text, func(t *testing.T) {
			f := newFixture(t, "rbf(ard)", 40, 2, withMean(text))
			if got := len(f.obj.Names()); got != 4 {
				t.Fatalf("parameters %v: the coefficients are none", f.obj.Names())
			}
			f.checkGradient(t)
		})
	}
}

// dense returns the covariance matrix of a fixture with the isotropic rbf, element by element.
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

// TestGLS compares value, coefficients and their covariance with explicit inverses and H.
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
	testcheck.Do(t, inv.Inverse(sigma))
	hs.Mul(h.T(), &inv)
	m.Mul(&hs, h)
	testcheck.Do(t, covariance.Inverse(&m))
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
	testcheck.Near(t, "β", b, beta.RawVector().Data, tol, 0)
	for j := range 3 {
		for k := range 3 {
			scale := math.Sqrt(covariance.At(j, j) * covariance.At(k, k))
			if math.Abs(c[3*j+k]-covariance.At(j, k)) > tol*scale {
				t.Errorf("covariance of β_%d, β_%d is %v, want %v", j, k, c[3*j+k], covariance.At(j, k))
			}
		}
	}
	_, _, a := f.obj.Theta()
	testcheck.Near(t, "α", a, alpha.RawVector().Data, 0, 1e-10*mat.Norm(&alpha, math.Inf(1)))
	// With the coefficients as parameters at β̂, the value and the gradient by θ
	// are the same, and the gradient by β is zero.
	free := newFixture(t, "rbf", n, 2, freeMean("poly(2, dims=0)"))
	v, grad := free.gradient(t, slices.Concat(z, b))
	_, glsGrad := f.gradient(t, z)
	if math.Abs(v-got) > tol*math.Abs(got) {
		t.Errorf("NLML %v, with β̂ as parameters %v", got, v)
	}
	testcheck.Near(t, "gradient with β̂ as parameters", grad, slices.Concat(glsGrad, make([]float64, 3)), 1e-9, 1e-9)
}

// TestGLSWork checks that the coefficients cost right-hand sides but no factorization.
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
// distinguish are an error from which an optimizer can step back.
func TestGLSCondition(t *testing.T) {
	f := newFixture(t, "rbf", 50, 1, withMean("linear"))
	for i := range f.spec.Mean { // nearly equal functions
		f.spec.Mean[i] = mean.Function{Group: mean.Bump, Index: i, Centre: 1e-9 * float64(i), Width: 1}
	}
	_, err := testcheck.Get(graph.Build(f.ws, f.spec))(t).Value(t.Context(), []float64{0, 0, 0})
	if !errors.As(err, new(*mean.ConditionError)) || !device.IsNotPD(err) {
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
				return testcheck.Slice(n, func(i int) float64 { return math.Cos(float64(k*i)) + s.X.Column(0)[i] })
			}
			f := newFixture(t, "rbf(ard)", n, 2, func(s *graph.Spec) {
				change(s)
				s.Y = slices.Concat(s.Y, extra(s, 1), extra(s, 2))
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
				floats.Add(sumGrad, g)
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
			testcheck.Near(t, "gradient", grad, sumGrad, 1e-10, 1e-10)
		})
	}
	f := newFixture(t, "rbf", n, 2, freeMean("constant"))
	f.spec.Y = append(f.spec.Y, f.spec.Y...)
	if _, err := graph.Build(f.ws, f.spec); err == nil {
		t.Error("free coefficients accepted for two targets")
	}
}
