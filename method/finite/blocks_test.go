package finite

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"gpfit/compare/baseline"
	"gpfit/device"
	"gpfit/device/devicetest/methodtest"
	"gpfit/device/textbook"
	"gpfit/internal/testcheck"
	"gpfit/kernel"
	"gpfit/method/internal/hostmethod"
)

// wide returns a task of many blocks of rows.
func wide(t testing.TB, text string, n int, seed uint64) *methodtest.Instance {
	rng := rand.New(rand.NewPCG(seed, 30))
	p := &methodtest.Instance{Text: text, Targets: 2, X: kernel.NewPoints(methodtest.Normals(rng, 3*n), n, 3), XS: kernel.NewPoints(methodtest.Normals(rng, 3*40), 40, 3)}
	p.Prog = testcheck.Get(kernel.CompileText(text, 3))(t)
	for q := range p.Prog.NumParams {
		p.Theta = append(p.Theta, 0.8+0.1*float64(q))
	}
	p.Noise, p.Y = []float64{0.3}, methodtest.Normals(rng, n*p.Targets)
	return p
}

// compareResults compares results, relative to the largest of each.
func compareResults(t *testing.T, what string, got, want *methodtest.Results, tolerance float64) {
	t.Helper()
	for k, name := range want.Names {
		testcheck.Near(t, what+": "+name, got.Values[k], want.Values[k], 0, tolerance*max(1, slices.Max(want.Values[k]), -slices.Min(want.Values[k])))
	}
}

// TestManyBlocks compares results of several parts with plain formulas. Their bits do not depend on the number
// of threads.
func TestManyBlocks(t *testing.T) {
	p := wide(t, "cosine(dims=0)*linear(dims=1) + linear(ard) + constant", 900, 1)
	p.Noise = make([]float64, 900)
	for i := range p.Noise {
		p.Noise[i] = 0.1 + float64(i%7)
	}
	if parts(p.X.N, 9) < 3 {
		t.Fatal("few parts")
	}
	var all []*methodtest.Results
	for _, threads := range []int{1, 3, 0} {
		w := testcheck.Get(open(t).NewWorkspace(t.Context(), p.X))(t)
		w.(*hostmethod.Workspace).Threads = threads
		all = append(all, methodtest.Evaluate(t, w, p, rand.New(rand.NewPCG(2, 1)), false))
	}
	compareResults(t, "three threads", all[1], all[0], 0)
	compareResults(t, "no number of threads", all[2], all[0], 0)
	w := testcheck.Get(textbook.New().NewWorkspace(t.Context(), p.X))(t)
	compareResults(t, "plain formulas", all[0], methodtest.Evaluate(t, w, p, rand.New(rand.NewPCG(2, 1)), false), 1e-10)
}

// TestFormAgain checks that a workspace that keeps features and their triangle has the bits of a new one.
func TestFormAgain(t *testing.T) {
	for _, text := range []string{"linear(ard) + constant", "cosine + poly(2, dims=1)"} {
		p := wide(t, text, 600, 3)
		kept := testcheck.Get(open(t).NewWorkspace(t.Context(), p.X))(t)
		for step := range 5 {
			p.Noise = []float64{0.2 + 0.1*float64(step)}
			if step == 2 {
				p.Noise = slices.Repeat([]float64{0.5, 0.7, 0.2}, 200)
			}
			for q := range p.Theta {
				p.Theta[q] *= 1.1
			}
			fresh := testcheck.Get(open(t).NewWorkspace(t.Context(), p.X))(t)
			compareResults(t, text, methodtest.Evaluate(t, kept, p, rand.New(rand.NewPCG(4, 1)), false), methodtest.Evaluate(t, fresh, p, rand.New(rand.NewPCG(4, 1)), false), 0)
		}
	}
}

// TestParts compares predictions of a term of a sum with plain formulas.
func TestParts(t *testing.T) {
	p := wide(t, "linear(ard, dims=[0, 1]) + cosine(dims=2)", 300, 5)
	for text, theta := range map[string][]float64{"linear(ard, dims=[0, 1])": p.Theta[:2], "cosine(dims=2)": p.Theta[2:]} {
		part, ctx := testcheck.Get(kernel.CompileText(text, 3))(t), context.Background()
		var all [2]*methodtest.Results
		for i, b := range []device.Backend{textbook.New(), open(t)} {
			w := testcheck.Get(b.NewWorkspace(ctx, p.X))(t)
			testcheck.Do(t, w.Form(ctx, p.Prog, p.Theta, p.Noise))
			mean, reduction, joint := make([]float64, 80), make([]float64, 40), make([]float64, 1600)
			testcheck.Do(t, w.Predict(ctx, part, theta, p.Y, p.XS, mean, reduction))
			testcheck.Do(t, w.(device.JointCovariance).PredictCovariance(ctx, part, theta, p.XS, joint))
			all[i] = &methodtest.Results{}
			all[i].Add("means", mean...)
			all[i].Add("reductions", reduction...)
			all[i].Add("joint covariance", joint...)
		}
		compareResults(t, text, all[1], all[0], 1e-10)
	}
}

// TestBayesianRegression compares the kernel linear with a Bayesian linear regression, whose variances are of
// new targets.
func TestBayesianRegression(t *testing.T) {
	const scale, noise = 0.7, 0.3
	p := wide(t, "linear", 400, 7)
	x, at := mat.NewDense(p.X.N, 3, nil), mat.NewDense(p.XS.N, 3, nil)
	for c := range 3 {
		x.SetCol(c, p.X.Column(c))
		at.SetCol(c, p.XS.Column(c))
	}
	y := p.Y[:p.X.N]
	design := baseline.Design{NoIntercept: true, Unscaled: true}
	m := testcheck.Get(baseline.BayesianLinear{Design: design, PriorScale: scale, Noise: noise}.Fit(x, y))(t)
	want := testcheck.Get(m.Predict(at))(t)

	ctx, w := t.Context(), testcheck.Get(open(t).NewWorkspace(t.Context(), p.X))(t)
	testcheck.Do(t, w.Form(ctx, p.Prog, []float64{scale}, []float64{noise}))
	alpha, mean, variance := slices.Clone(y), make([]float64, p.XS.N), make([]float64, p.XS.N)
	testcheck.Do(t, w.Solve(ctx, alpha, 1))
	logDet, _ := testcheck.Get2(w.LogDet())(t)
	evidence := -(floats.Dot(y, alpha) + logDet + float64(p.X.N)*math.Log(2*math.Pi)) / 2
	testcheck.Do(t, w.Predict(ctx, p.Prog, []float64{scale}, alpha, p.XS, mean, variance))
	for i, v := range variance {
		point := at.RawRowView(i)
		variance[i] = scale*floats.Dot(point, point) - v + noise
	}
	testcheck.Near(t, "log evidence", []float64{evidence}, []float64{m.(*baseline.BayesianModel).LogEvidence}, 1e-10, 0)
	testcheck.Near(t, "means", mean, want.Mean, 1e-10, 1e-10)
	testcheck.Near(t, "variances", variance, want.Variance, 1e-10, 0)
}

// TestRefused checks the errors for what the method cannot compute.
func TestRefused(t *testing.T) {
	b, p := open(t), wide(t, "linear", 40, 6)
	prog := func(text string) *kernel.Program { return testcheck.Get(kernel.CompileText(text, 3))(t) }
	testcheck.Do(t, b.Supports(device.Workload{N: 40, D: 3, Program: prog("poly(3)*cosine")}))
	for _, text := range []string{"rbf", "linear + matern12", "poly(30)", "periodic"} {
		testcheck.Fail[*device.UnsupportedKernelError](t, b.Supports(device.Workload{N: 40, D: 3, Points: p.X, Program: prog(text)}), "finite", text)
	}
	for _, w := range []device.Workload{{N: 40, Blocks: []int{40}}, {N: 40, Factor: true, Program: p.Prog}, {N: 40}} {
		testcheck.Fail[*device.UnsupportedError](t, b.Supports(w))
	}
	w := testcheck.Get(b.NewWorkspace(t.Context(), p.X))(t)
	testcheck.Fail[*device.NotPDError](t, w.Form(t.Context(), p.Prog, p.Theta, []float64{0}))
	noise := slices.Repeat([]float64{1}, 40)
	noise[7] = 0
	testcheck.Fail[*device.UnsupportedError](t, w.Form(t.Context(), p.Prog, p.Theta, noise), "dense")
	testcheck.Fail[*device.UnsupportedKernelError](t, w.Form(t.Context(), prog("rbf"), []float64{1, 1}, []float64{1}))
	testcheck.Do(t, w.Form(t.Context(), p.Prog, p.Theta, []float64{1}))
	_, err := Method().Backends([]device.Device{other{}})
	testcheck.Fail[*device.UnavailableError](t, err, "cuda:0")
}

// other is no host.
type other struct{ methodtest.Host }

func (other) Info() device.Info { return device.Info{Name: "cuda:0"} }
