package fit

import (
	"context"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gpfit/fit/problem"
	"gpfit/fit/summary"
	"gpfit/gp"
	"gpfit/hyperopt"
	"gpfit/internal/must"
	"gpfit/kernel"
)

// centred makes n rows of two columns of very different scales and a target of
// another one, all with mean 0.
func centred(n int) problem.Data {
	rng := rand.New(rand.NewPCG(55, 1))
	d := problem.Data{N: n, D: 2, FeatureNames: []string{"a", "b"}, TargetName: "y"}
	var mean [3]float64
	for range n {
		a, b := 30*rng.NormFloat64(), 0.02*rng.NormFloat64()
		y := 7 * (math.Sin(a/20) + 40*b + 0.3*rng.NormFloat64())
		d.X, d.Y = append(d.X, a, b), append(d.Y, y)
		mean[0], mean[1], mean[2] = mean[0]+a/float64(n), mean[1]+b/float64(n), mean[2]+y/float64(n)
	}
	for i := range d.Y {
		d.X[2*i] -= mean[0]
		d.X[2*i+1] -= mean[1]
		d.Y[i] -= mean[2]
	}
	return d
}

func evaluate(t *testing.T, d problem.Data, o problem.Options) *summary.Report {
	t.Helper()
	task := must.Get(Prepare(d, o, problem.Events{}))(t)
	r := must.Get(Evaluate(context.Background(), task, backend, nil))(t)
	return r
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
		"constant*(linear(ard) + periodic(ard))",
	} {
		scaled := evaluate(t, d, problem.Options{Kernel: text})
		raw := evaluate(t, d, problem.Options{Kernel: text, Standardize: gp.StandardizeNone, Set: assignments(scaled.ParametersOriginalUnits)})
		if math.Abs(raw.NLML-scaled.NLMLOriginalUnits) > 1e-9*math.Abs(raw.NLML) {
			t.Errorf("%s: NLML in original units %v, at the reported parameters on raw data %v", text, scaled.NLMLOriginalUnits, raw.NLML)
		}
	}
	// The signal variance of linear on both columns is a slope's variance for each.
	scaled := evaluate(t, d, problem.Options{Kernel: "linear + constant"})
	o := scaled.ParametersOriginalUnits
	raw := evaluate(t, d, problem.Options{Kernel: "linear(dims=0) + linear(dims=1) + constant", Standardize: gp.StandardizeNone, Set: assignments(map[string]float64{
		"k1.signal_variance": o["k1.signal_variance[a]"], "k2.signal_variance": o["k1.signal_variance[b]"],
		"k3.signal_variance": o["k2.signal_variance"], "noise_variance": o["noise_variance"]})})
	if math.Abs(raw.NLML-scaled.NLMLOriginalUnits) > 1e-9*math.Abs(raw.NLML) {
		t.Errorf("linear: NLML in original units %v, at the reported slopes on raw data %v", scaled.NLMLOriginalUnits, raw.NLML)
	}
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
			task := must.Get(Prepare(d, problem.Options{Kernel: text, Standardize: how}, problem.Events{}))(t)
			theta := make([]float64, task.Program().NumParams)
			for i := range theta {
				p := task.Params.Free[i]
				theta[i] = p.Start
				if !(p.Lower < p.Start && p.Start < p.Upper) {
					t.Errorf("%s: %s starts at %v, outside of %v to %v", text, p.Name, p.Start, p.Lower, p.Upper)
				}
			}
			want := problem.MeanSquare(task.Sample.Targets)
			if got := problem.MeanVariance(task.Program(), theta, task.Sample.Points); math.Abs(got/want-1) > 1e-12 {
				t.Errorf("%s: prior variance %v at the start, the targets have %v", text, got, want)
			}
		}
	}
	task := must.Get(Prepare(d, problem.Options{Kernel: "periodic(dims=0) + periodic(dims=0)"}, problem.Events{}))(t)
	column := task.Sample.Points.Column(0)
	width := slices.Max(column) - slices.Min(column)
	for i, want := range map[int]float64{1: width / 3, 4: width / 6} {
		if got := task.Params.Free[i]; math.Abs(got.Start/want-1) > 1e-12 || !strings.HasSuffix(got.Name, "period") {
			t.Errorf("%s starts at %v, want %v", got.Name, got.Start, want)
		}
	}
}

// TestPeriodicFit finds a period and a slope.
func TestPeriodicFit(t *testing.T) {
	rng := rand.New(rand.NewPCG(77, 1))
	d := problem.Data{N: 150, D: 1, FeatureNames: []string{"year"}, TargetName: "ppm"}
	for range d.N {
		x := 1990 + 12*rng.Float64()
		d.X, d.Y = append(d.X, x), append(d.Y, 350+1.5*(x-1996)+4*math.Sin(2*math.Pi*x)+0.3*rng.NormFloat64())
	}
	start := 1.1 / gp.NewScaling(gp.StandardizeX, d.X, d.Y, 1).XScale[0]
	r := mustFit(t, d, problem.Options{Kernel: "periodic + linear", Set: []problem.Assignment{{Name: "k1.period", Value: start, Given: true}}}).Report
	if p := r.ParametersOriginalUnits["k1.period"]; math.Abs(p-1) > 2e-3 {
		t.Errorf("period %v, want 1", p)
	}
	if s := math.Sqrt(r.ParametersOriginalUnits["noise_variance"]); math.Abs(s/0.3-1) > 0.25 {
		t.Errorf("noise %v, want 0.3", s)
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
	d.Test = make([]bool, d.N)
	for i := 0; i < d.N; i += 4 {
		d.Test[i] = true
	}
	own := []*kernel.Family{sech}
	out := mustFit(t, d, problem.Options{Kernel: "sech(dims=0)*rbf + linear(dims=2)", Kernels: own, Settings: hyperopt.Settings{Seed: 1}})
	if r := out.Report; r.Test.RMSEStandardized > 0.3 || !strings.HasSuffix(r.Status, "converged") {
		t.Errorf("status %s, test scores %+v", r.Status, *r.Test)
	}
	scaling := gp.NewScaling(gp.StandardizeX, out.Model.X, out.Model.Y, 2)
	if got := out.Report.ParametersOriginalUnits["k1.k1.lengthscale"] / out.Report.Parameters["k1.k1.lengthscale"]; math.Abs(got/scaling.XScale[0]-1) > 1e-12 {
		t.Errorf("its lengthscale changes by %v with the units, the column by %v", got, scaling.XScale[0])
	}
	path := filepath.Join(t.TempDir(), "model.npz")
	must.Do(t, out.Model.Save(path))
	if _, err := gp.Load(path); err == nil || !strings.Contains(err.Error(), "sech") {
		t.Errorf("read without the kernel: %v", err)
	}
	m := must.Get(gp.Load(path, own...))(t)
	p := must.Get(m.Condition(context.Background(), backend))(t)
	defer p.Close()
	if _, err := p.Predict(context.Background(), d.X[:30], 10); err != nil {
		t.Error(err)
	}
	if _, err := Prepare(d, problem.Options{Kernel: "sech"}, problem.Events{}); err == nil {
		t.Error("a name without its kernel was accepted")
	}
}
