package fit

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"gpfit/fit/problem"
	"gpfit/fit/summary"
	"gpfit/gp"
	"gpfit/graph"
	"gpfit/hyperopt"
	"gpfit/internal/testcheck"
	"gpfit/internal/transform"
	"gpfit/kernel"
)

// centred makes n rows of two columns of very different scales and a target of
// another one, all with mean 0.
func centred(n int) problem.Data {
	d := drawn(55, 1, n, "a b y", func(_ int, _, normal random) []float64 {
		a, b := 30*normal(), 0.02*normal()
		return []float64{a, b, 7 * (math.Sin(a/20) + 40*b + 0.3*normal())}
	})
	s := gp.NewScaling(gp.StandardizeXY, d.X, d.Y, 2)
	for i := range d.Y {
		d.X[2*i] -= s.XMean[0]
		d.X[2*i+1] -= s.XMean[1]
		d.Y[i] -= s.YMean
	}
	return d
}

func evaluate(t *testing.T, d problem.Data, o problem.Options) *summary.Report {
	t.Helper()
	task := mustPrepare(t, d, o)
	return testcheck.Get(Evaluate(t.Context(), task, backend, nil))(t)
}

func assignments(values map[string]float64) (out []problem.Assignment) {
	for name, v := range values {
		out = append(out, problem.Assignment{Name: name, Value: v, Given: true})
	}
	return out
}

// TestKernelUnits checks that on centred data, the model with the reported original
// parameters on raw data has the NLML of the original targets. That holds for every
// parameter with units; the offset of an isotropic poly has none.
func TestKernelUnits(t *testing.T) {
	d := centred(60)
	for _, text := range []string{
		"rq(ard)", "periodic(ard)", "cosine(ard) + constant", "linear(dims=0) + linear(dims=1)", "linear(ard) + rbf(ard)",
		"poly(2, ard)", "poly(3, ard) + constant", "rbf(dims=0)*linear(dims=1)", "rbf(ard)*linear(ard)",
		"linear(ard)*poly(2, ard)", "linear(ard)*(rbf(ard) + constant)", "(rq(ard) + constant)*(cosine(ard) + constant)",
		"constant*(linear(ard) + periodic(ard))", "rq(rotated, tilt=-0.7)", "matern32(rotated, dims=[1, 0], tilt=0.4) + rbf(ard)", "rbf(sphere, dims=[1, 0])",
	} {
		scaled := evaluate(t, d, problem.Options{Mean: "zero", Kernel: text})
		raw := evaluate(t, d, problem.Options{Mean: "zero", Kernel: text, Standardize: gp.StandardizeNone, Set: assignments(scaled.ParametersOriginalUnits)})
		testcheck.Within(t, raw.NLML, scaled.NLMLOriginalUnits, 1e-9*math.Abs(raw.NLML), "%s: NLML at the reported parameters on raw data", text)
	}
	// The signal variance of linear on both columns is a slope's variance for each.
	scaled := evaluate(t, d, problem.Options{Mean: "zero", Kernel: "linear + constant"})
	o := scaled.ParametersOriginalUnits
	raw := evaluate(t, d, problem.Options{Mean: "zero", Kernel: "linear(dims=0) + linear(dims=1) + constant", Standardize: gp.StandardizeNone, Set: assignments(map[string]float64{
		"k1.signal_variance": o["k1.signal_variance[a]"], "k2.signal_variance": o["k1.signal_variance[b]"],
		"k3.signal_variance": o["k2.signal_variance"], "noise_variance": o["noise_variance"]})})
	testcheck.Within(t, raw.NLML, scaled.NLMLOriginalUnits, 1e-9*math.Abs(raw.NLML), "linear: NLML at the reported slopes on raw data")
}

// TestStarts checks that the default start of every kernel has the targets' variance
// on average, lies within its bounds, and differs between equal leaves.
func TestStarts(t *testing.T) {
	d := centred(150)
	for _, text := range []string{
		"rbf", "rbf(ard) + matern32*rq", "linear", "linear(ard)", "poly(4)", "poly(3, ard)", "periodic*linear", "cosine + cosine",
		"constant", "rbf*(linear + rq*(periodic + constant))", "linear(ard)*(rbf + constant)", "(rbf + rq)*(cosine + constant) + linear",
		"periodic + periodic", "poly(2, offset=0.25)", "poly(2, offset=0)", "arcsine(offset=0) + poly(3, ard, offset=0)",
	} {
		for _, how := range []gp.Standardize{gp.StandardizeXY, gp.StandardizeNone} {
			task := mustPrepare(t, d, problem.Options{Mean: "zero", Kernel: text, Standardize: how})
			theta := make([]float64, task.Program().NumParams)
			for i := range theta {
				p := task.Params.Free[i]
				theta[i] = p.Start
				if !(p.Lower < p.Start && p.Start < p.Upper) {
					t.Errorf("%s: %s starts at %v, outside of %v to %v", text, p.Name, p.Start, p.Lower, p.Upper)
				}
			}
			want := problem.MeanSquare(task.Sample.Targets)
			testcheck.Within(t, problem.MeanVariance(task.Program(), theta, task.Sample.Points), want, 1e-12*want, "%s: prior variance at the start", text)
		}
	}
	task := mustPrepare(t, d, problem.Options{Mean: "zero", Kernel: "periodic(dims=0) + periodic(dims=0)"})
	column := task.Sample.Points.Column(0)
	width := slices.Max(column) - slices.Min(column)
	for i, want := range map[int]float64{1: width / 3, 4: width / 6} {
		if got := task.Params.Free[i]; math.Abs(got.Start/want-1) > 1e-12 || !strings.HasSuffix(got.Name, "period") {
			t.Errorf("%s starts at %v, want %v", got.Name, got.Start, want)
		}
	}
}

// sech is a user-defined kernel, 1/cosh(r). It is the Fourier transform of another
// hyperbolic secant and therefore positive definite on one column.
var sech = &kernel.Family{
	Name: "sech", Parameters: []kernel.Parameter{{Name: "lengthscale", Kind: kernel.Lengthscale}},
	Function: func(p *kernel.Pair) *kernel.Node {
		r := p.Distance("lengthscale")
		return p.Div(p.Scale(2, p.Exp(p.Neg(r))), p.Add(p.Number(1), p.Exp(p.Scale(-2, r))))
	},
}

// TestCustomKernel follows a user-defined kernel from the expression to predictions
// from a model file.
func TestCustomKernel(t *testing.T) {
	d := synthetic(80)
	d.Test = every(4, 0, d.N)
	own := []*kernel.Family{sech}
	out := mustFit(t, d, problem.Options{Mean: "zero", Kernel: "sech(dims=0)*rbf + linear(dims=2)", Kernels: own, Settings: hyperopt.Settings{Seed: 1}})
	if r := out.Report; r.Test.RMSEStandardized > 0.3 || !strings.HasSuffix(r.Status, "converged") {
		t.Errorf("status %s, test scores %+v", r.Status, *r.Test)
	}
	scaling := gp.NewScaling(gp.StandardizeX, out.Model.X, out.Model.Y, 2)
	units := out.Report.ParametersOriginalUnits["k1.k1.lengthscale"] / out.Report.Parameters["k1.k1.lengthscale"]
	testcheck.Within(t, units/scaling.XScale[0], 1, 1e-12, "units of the lengthscale by units of the column")
	path := saved(t, out, false)
	_, err := gp.Load(path)
	testcheck.Fail[error](t, err, "sech")
	predictAt(t, testcheck.Get(gp.Load(path, own...))(t), d.X[:30])
	_, err = Prepare(d, problem.Options{Mean: "zero", Kernel: "sech"}, problem.Events{})
	testcheck.Fail[error](t, err)
}

// TestUnprovedKernels checks that a fit first checks formulas and user-defined
// kernels, but not built-in families.
func TestUnprovedKernels(t *testing.T) {
	d := synthetic(60)
	flat := &kernel.Family{Name: "flat", Function: func(p *kernel.Pair) *kernel.Node { return p.Sub(p.Number(0.1), p.Exp(p.Neg(p.Distance("")))) }}
	skew := &kernel.Family{Name: "skew", Function: func(p *kernel.Pair) *kernel.Node { return p.Exp(p.Differences()[0]) }}
	for text, want := range map[string]string{
		"rbf + linear": "", "formula(exp(-r/a), a=1)*rbf": "", "formula(1 - r)": "has the eigenvalue -", "rbf + rbf*(flat + constant)": "has the eigenvalue -",
		"skew": "differ by", "rbf + formula(log(r))": "not a finite number",
	} {
		o := problem.Options{Mean: "zero", Kernel: text, Kernels: []*kernel.Family{flat, skew}}
		job := mustPrepare(t, d, o)
		if warnings := strings.Join(job.Warnings(), " "); strings.Contains(warnings, "not a covariance function") != (want != "") || !strings.Contains(warnings, want) {
			t.Errorf("%s: warnings %q, want %q", text, warnings, want)
		}
		o.RequirePSD = true
		_, err := Prepare(d, o, problem.Events{})
		var none *kernel.KernelhoodError
		if errors.As(err, &none) != (want != "") || none != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", text, err, want)
		}
	}
}

// TestPanickingKernel checks that a panic in the function of a user-defined kernel is
// an error, and so is a function that returns nothing.
func TestPanickingKernel(t *testing.T) {
	boom := &kernel.Family{Name: "boom", Function: func(*kernel.Pair) *kernel.Node { panic("a mistake") }}
	none := &kernel.Family{Name: "none", Function: func(*kernel.Pair) *kernel.Node { return nil }}
	for text, want := range map[string]string{"rbf + boom": "panicked: a mistake", "none*rbf": "no expression"} {
		_, err := Prepare(synthetic(20), problem.Options{Mean: "zero", Kernel: text, Kernels: []*kernel.Family{boom, none}}, problem.Events{})
		testcheck.Fail[*kernel.CompileError](t, err, want)
	}
}

// TestUnprovedScales checks that the check of a formula does not depend on the size
// of its values, some of which are tiny compared with others.
func TestUnprovedScales(t *testing.T) {
	for _, step := range []float64{0, 3, 6, 12} {
		d := synthetic(24)
		for i := range d.X {
			d.X[i] *= math.Pow(10, -step*float64(i))
		}
		mustPrepare(t, d, problem.Options{Mean: "zero", Kernel: "formula(sqrt(xx*yy)*a, a=1)", Standardize: gp.StandardizeNone})
	}
}

// TestFormulaFit checks that the fit of a formula equals the fit of the family that
// it spells out, and that its parameters are reported in original units.
func TestFormulaFit(t *testing.T) {
	d := synthetic(80)
	formula := mustFit(t, d, problem.Options{Mean: "zero", Kernel: "formula(exp(-b*r2), b=0.5, dims=0)", Settings: hyperopt.Settings{Seed: 1}}).Report
	family := mustFit(t, d, problem.Options{Mean: "zero", Kernel: "rbf(lengthscale=1, dims=0)", Settings: hyperopt.Settings{Seed: 1}}).Report
	testcheck.Within(t, formula.NLML, family.NLML, 1e-5, "NLML")
	for what, values := range map[string][2]map[string]float64{
		"scaled": {formula.Parameters, family.Parameters}, "original": {formula.ParametersOriginalUnits, family.ParametersOriginalUnits},
	} {
		rho := values[1]["lengthscale"]
		testcheck.Within(t, 2*values[0]["b"]*rho*rho, 1, 1e-3, "%s units: 2b times the square of the lengthscale", what)
	}
}

// quadratics returns a table without noise in its inputs, whose target is a quadratic form.
func quadratics(n int) problem.Data {
	return drawn(8, 2, n, "a b y", func(_ int, _, normal random) []float64 {
		a, b := normal(), normal()
		return []float64{a, b, a*a - 0.5*a*b + 0.3*b*b + 0.2*normal()}
	})
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
	testcheck.Do(t, factor.SolveVecTo(&w, &b))
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
		return problem.Options{Mean: "zero", Kernel: "poly(2)", Standardize: gp.StandardizeNone, Fix: append(more,
			problem.Assignment{Name: "signal_variance", Value: variance, Given: true}, problem.Assignment{Name: graph.NoiseVariance, Value: noise, Given: true})}
	}
	fixed := at(problem.Assignment{Name: "offset", Value: 0, Given: true})
	text := at()
	text.Kernel = "poly(2, offset=0)"
	formula := at()
	formula.Kernel = "formula(dot^2)"
	for _, o := range []problem.Options{fixed, text, formula} {
		out := mustFit(t, d, o)
		testcheck.Within(t, out.Report.NLML, want, tol*math.Abs(want), "%s: NLML", out.Report.Kernel)
		sameNumbers(t, o.Kernel, testcheck.Get(out.Posterior().Predict(t.Context(), d.X, d.N))(t).Mean, mean)
		sameNumbers(t, o.Kernel, predictAt(t, testcheck.Get(gp.Load(saved(t, out, false)))(t), d.X).Mean, mean)
	}
	report := mustFit(t, d, fixed).Report
	if v, ok := report.Parameters["offset"]; !ok || v != 0 || !slices.Equal(report.Constants, []string{"offset"}) || report.Kernel != "poly(2, offset=0)" {
		t.Errorf("report: kernel %s, offset %v, constants %v", report.Kernel, v, report.Constants)
	}
	testcheck.Words(t, report.Text(), "offset                             0               0  constant\n")
	// The gradient by the other parameters, against differences of the evidence by features.
	r := evaluate(t, d, problem.Options{Mean: "zero", Kernel: "poly(2, offset=0)", Standardize: gp.StandardizeNone,
		Set: []problem.Assignment{{Name: "signal_variance", Value: variance, Given: true}, {Name: graph.NoiseVariance, Value: noise, Given: true}}})
	const h = 1e-5
	for name, f := range map[string]func(h float64) float64{
		"signal_variance":   func(h float64) float64 { v, _ := primal(t, d, variance*math.Exp(h), noise); return v },
		graph.NoiseVariance: func(h float64) float64 { v, _ := primal(t, d, variance, noise*math.Exp(h)); return v },
	} {
		// The difference cancels to 1e-5 of the evidence, and its own error is h².
		slope := (f(h) - f(-h)) / (2 * h)
		testcheck.Within(t, r.GradientLog[name], slope, 1e-7*(1+math.Abs(slope)), "∂/∂log %s", name)
	}
}

// TestZeroOffsetFrom fits from a model whose offset is the constant 0.
func TestZeroOffsetFrom(t *testing.T) {
	d := quadratics(40)
	m := modelOf(t, mustFit(t, d, problem.Options{Mean: "zero", Kernel: "poly(2) + rbf", Fix: []problem.Assignment{{Name: "k1.offset", Value: 0, Given: true}}}))
	again := mustPrepare(t, d, problem.Options{From: m})
	if again.Kernel() != "poly(2, offset=0) + rbf" || len(again.Params.Warnings) > 0 {
		t.Errorf("kernel %s, warnings %v", again.Kernel(), again.Params.Warnings)
	}
	free := mustPrepare(t, d, problem.Options{From: m, Kernel: "poly(2) + rbf"})
	testcheck.Words(t, strings.Join(free.Params.Warnings, "\n"), "no value of k1.offset")
	if fixed := mustPrepare(t, d, problem.Options{Mean: "zero", Kernel: "poly(2, offset=0)", Fix: []problem.Assignment{{Name: "offset"}}}); fixed.Kernel() != "poly(2, offset=0)" {
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

// TestOnSphere checks that places keep their degrees, whose NLML has a reference in three coordinates, and that a latitude beyond
// the pole is an error.
func TestOnSphere(t *testing.T) {
	d := drawn(56, 1, 50, "lat lon y", func(_ int, uniform, normal random) []float64 {
		lat, lon := 160*uniform()-80, 360*uniform()-180
		return []float64{lat, lon, math.Sin(lat/30) + math.Cos(lon/50) + 0.1*normal()}
	})
	o := problem.Options{Mean: "zero", Kernel: "matern52(sphere)", Standardize: gp.StandardizeX, Set: assignments(map[string]float64{"lengthscale": 25, "signal_variance": 1.3, "noise_variance": 0.02})}
	got := evaluate(t, d, o)
	space := d
	space.D, space.FeatureNames, space.X = 3, []string{"x", "y", "z"}, nil
	const radius = 180 / math.Pi
	for i := range d.N {
		sinLat, cosLat := math.Sincos(d.X[2*i] / radius)
		sinLon, cosLon := math.Sincos(d.X[2*i+1] / radius)
		space.X = append(space.X, radius*cosLat*cosLon, radius*cosLat*sinLon, radius*sinLat)
	}
	o.Kernel, o.Standardize = "matern52", gp.StandardizeNone
	testcheck.Within(t, got.NLML, evaluate(t, space, o).NLML, 1e-9*math.Abs(got.NLML), "NLML on the sphere")
	for i, v := range d.X {
		d.X[i] = 80 * math.Exp(math.Abs(v)/40-5) // long tails, which stay
	}
	o.Kernel, o.InputTransform = "matern52(sphere)", transform.Skewed
	kept := testcheck.Get(problem.New(d, o))(t).Sample
	if s := kept.Scalings[0]; len(s.XTransforms) != 2 || s.XTransforms[0] != nil || s.XTransforms[1] != nil || kept.Points.Column(1)[7] != d.X[15] {
		t.Errorf("places with long tails are scaled: %+v", s)
	}
	d.X[4] = 97
	_, err := problem.New(d, problem.Options{Mean: "zero", Kernel: "rbf(sphere)"})
	testcheck.Fail[*problem.DataError](t, err, `column "lat" of row 3 (from 1) is a latitude in the kernel`, "97")
}
