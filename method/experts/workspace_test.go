package experts_test

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"gpfit/cpu"
	"gpfit/device"
	"gpfit/device/devicetest"
	"gpfit/device/devicetest/testmethod"
	"gpfit/internal/testcheck"
	"gpfit/kernel"
	"gpfit/kernel/kerneltest"
	"gpfit/method/experts"
)

// close1e10 is the relative tolerance for the same formula in another order of its sums.
const close1e10 = 1e-10

// TestOneExpert checks that one expert is a method like any other.
func TestOneExpert(t *testing.T) {
	if !testcheck.Long() {
		t.Skip("SKIPPED: the suite of methods takes 7 s; GPFIT_LONG=1 runs it")
	}
	b := testcheck.Get(cpu.New(device.Options{}))(t)
	devicetest.Run(t, func(*testing.T) device.Backend { return oneExpert{b} })
}

// oneExpert makes a partition for points of any number of columns.
type oneExpert struct{ device.Backend }

func (b oneExpert) on(n, d int) device.Backend {
	p := &experts.Partition{Combine: experts.RBCM, Centres: [][]float64{make([]float64, d)}, Sizes: []int{n}}
	return p.On(b.Backend)
}

func (b oneExpert) Capabilities() device.Capabilities { return b.on(1, 1).Capabilities() }

func (b oneExpert) Supports(w device.Workload) error { return b.on(w.N, w.D).Supports(w) }

func (b oneExpert) NewWorkspace(ctx context.Context, x *kernel.Points) (device.Workspace, error) {
	return b.on(x.N, x.D).NewWorkspace(ctx, x)
}

// table is a problem with three groups of rows in mixed order.
type table struct {
	x, xs        *kernel.Points
	of           []int
	prog         *kernel.Program
	theta, noise []float64
	partition    *experts.Partition
}

func newTable(t *testing.T, text string, rule experts.Rule) *table {
	t.Helper()
	const n, d, m = 60, 2, 17
	rng := rand.New(rand.NewPCG(3, 4))
	tab := &table{prog: kerneltest.Program(t, text, d), partition: &experts.Partition{Combine: rule, Centres: [][]float64{{-2, 0}, {2, 1}, {0, 3}}, Sizes: make([]int, 3)}}
	draw := func(n int) []float64 { return testcheck.Slice(n*d, func(int) float64 { return 2 * rng.NormFloat64() }) }
	rows := draw(n)
	tab.x, tab.xs = kernel.NewPoints(rows, n, d), kernel.NewPoints(draw(m), m, d)
	for i := range n {
		k := tab.nearest(rows[i*d : (i+1)*d])
		tab.of = append(tab.of, k)
		tab.partition.Sizes[k]++
		tab.noise = append(tab.noise, 0.05+0.1*rng.Float64())
	}
	tab.theta = testcheck.Slice(tab.prog.NumParams, func(int) float64 { return 0.8 + 0.4*rng.Float64() })
	return tab
}

func (tab *table) nearest(row []float64) int {
	best, least := 0, math.Inf(1)
	for k, c := range tab.partition.Centres {
		if v := math.Hypot(row[0]-c[0], row[1]-c[1]); v < least {
			best, least = k, v
		}
	}
	return best
}

// covariance evaluates the kernel at all pairs.
func (tab *table) covariance(a, b *kernel.Points) *mat.Dense {
	e := kernel.NewEvaluator(tab.prog)
	e.Bind(tab.theta)
	out, row := mat.NewDense(a.N, b.N, nil), make([]float64, b.N)
	for i := range a.N {
		e.Row(row, a, i, b, 0, b.N)
		out.SetRow(i, row)
	}
	return out
}

// sigma returns the block-diagonal Σ as a dense matrix.
func (tab *table) sigma() *mat.SymDense {
	k, n := tab.covariance(tab.x, tab.x), tab.x.N
	s := mat.NewSymDense(n, nil)
	for i := range n {
		for j := range i + 1 {
			if tab.of[i] == tab.of[j] {
				s.SetSym(i, j, k.At(i, j))
			}
		}
		s.SetSym(i, i, s.At(i, i)+tab.noise[i])
	}
	return s
}

func (tab *table) open(t *testing.T) device.Workspace {
	t.Helper()
	w := testcheck.Get(tab.partition.On(testmethod.New()).NewWorkspace(t.Context(), tab.x))(t)
	t.Cleanup(func() { w.Close() })
	testcheck.Do(t, w.Form(t.Context(), tab.prog, tab.theta, tab.noise))
	return w
}

func near(t *testing.T, what string, got, want []float64) {
	t.Helper()
	testcheck.Near(t, what, got, want, 0, close1e10*floats.Norm(want, math.Inf(1)))
}

// TestBlocks compares a workspace of three experts with the dense block-diagonal matrix.
func TestBlocks(t *testing.T) {
	ctx := t.Context()
	tab := newTable(t, "rbf(ard) + matern32", experts.Nearest)
	w, n := tab.open(t), tab.x.N
	var chol mat.Cholesky
	if !chol.Factorize(tab.sigma()) {
		t.Fatal("not positive definite")
	}
	value, _ := testcheck.Get2(w.LogDet())(t)
	near(t, "log-determinant", []float64{value}, []float64{chol.LogDet()})
	var inverse mat.SymDense
	testcheck.Do(t, chol.InverseTo(&inverse))
	b, want := testcheck.Slice(2*n, func(i int) float64 { return math.Sin(float64(i)) }), make([]float64, 2*n)
	for q := range 2 {
		var solved mat.VecDense
		testcheck.Do(t, chol.SolveVecTo(&solved, mat.NewVecDense(n, b[q*n:(q+1)*n])))
		copy(want[q*n:], solved.RawVector().Data)
	}
	alpha := append([]float64(nil), b...)
	testcheck.Do(t, w.Solve(ctx, alpha, 2))
	near(t, "solution", alpha, want)
	diagonal := make([]float64, n)
	testcheck.Do(t, w.(device.InverseDiagonal).InverseDiagonal(ctx, diagonal))
	near(t, "diagonal of the inverse", diagonal, testcheck.Slice(n, func(i int) float64 { return inverse.At(i, i) }))
	tab.testContract(t, w, &inverse, alpha[:n])
}

// testContract compares the gradient with central differences of the adjoint's product with
// the dense matrix.
func (tab *table) testContract(t *testing.T, w device.Workspace, inverse *mat.SymDense, v []float64) {
	n := tab.x.N
	grad, diag := make([]float64, tab.prog.NumParams), make([]float64, n)
	adj := device.Adjoint{Inv: 0.5, Outer: []float64{-0.5}, Vectors: v}
	testcheck.Do(t, w.Contract(t.Context(), adj, tab.prog, tab.theta, grad, diag))
	g := mat.NewDense(n, n, nil)
	for i := range n {
		for j := range n {
			g.Set(i, j, 0.5*inverse.At(i, j)-0.5*v[i]*v[j])
		}
	}
	near(t, "diagonal of the adjoint", diag, testcheck.Slice(n, func(i int) float64 { return g.At(i, i) }))
	product := func(p int, by float64) float64 {
		moved := *tab
		moved.theta = append([]float64(nil), tab.theta...)
		moved.theta[p] *= math.Exp(by)
		s, sum := moved.sigma(), 0.0
		for i := range n {
			for j := range n {
				if tab.of[i] == tab.of[j] {
					sum += g.At(i, j) * s.At(i, j)
				}
			}
		}
		return sum
	}
	for p := range grad {
		const h = 1e-4 // the error of the differences is h²/6 times the third derivative
		want := (product(p, h) - product(p, -h)) / (2 * h)
		testcheck.Within(t, grad[p], want, 1e-6*(1+math.Abs(want)), "derivative %d", p)
	}
}

// TestPredictRules compares predictions with a slow version of each rule from dense
// matrices, one expert and one point at a time.
func TestPredictRules(t *testing.T) {
	for _, temperature := range []float64{0, 2.5} {
		for _, rule := range experts.Rules() {
			tab := newTable(t, "rbf(ard) + rq", rule)
			tab.partition.Temperature = temperature
			w, n, m := tab.open(t), tab.x.N, tab.xs.N
			y := testcheck.Slice(2*n, func(i int) float64 { return math.Cos(float64(3 * i)) })
			alpha := append([]float64(nil), y...)
			testcheck.Do(t, w.Solve(t.Context(), alpha, 2))
			mean, reduction := make([]float64, 2*m), make([]float64, m)
			testcheck.Do(t, w.Predict(t.Context(), tab.prog, tab.theta, alpha, tab.xs, mean, reduction))
			var wantMean, wantReduction []float64
			for q := range 2 {
				wantReduction = nil
				for j := range m {
					mu, variance, prior := tab.slow(t, y[q*n:(q+1)*n], tab.xs, j, -1, rule, max(temperature, 1))
					wantMean, wantReduction = append(wantMean, mu), append(wantReduction, prior-variance)
				}
			}
			near(t, string(rule)+" mean", mean, wantMean)
			near(t, string(rule)+" reduction", reduction, wantReduction)
		}
	}
}

// TestCalibrate compares the scores of the rules with predictions of each training row by
// experts that never had it, and checks that the temperature is the best one.
func TestCalibrate(t *testing.T) {
	tab := newTable(t, "rbf(ard)", experts.RBCM)
	w, n := tab.open(t), tab.x.N
	y := testcheck.Slice(n, func(i int) float64 { return math.Sin(2*tab.x.X[i]) + 0.3*math.Cos(float64(3*i)) })
	alpha := append([]float64(nil), y...)
	testcheck.Do(t, w.Solve(t.Context(), alpha, 1))
	p := testcheck.Get(experts.Calibrate(t.Context(), w, experts.Training{Program: tab.prog, Theta: tab.theta, Noise: tab.noise, Residual: y, Alpha: alpha}))(t)
	if tab.partition.Temperature != 0 {
		t.Error("the partition of others has changed")
	}
	score := func(rule experts.Rule, temperature float64) (rmse, nlpd float64) {
		for i := range n {
			mu, v, _ := tab.slow(t, y, tab.x, i, i, rule, temperature)
			v += tab.noise[i]
			rmse += (y[i] - mu) * (y[i] - mu) / float64(n)
			nlpd += (0.5*math.Log(2*math.Pi*v) + (y[i]-mu)*(y[i]-mu)/(2*v)) / float64(n)
		}
		return math.Sqrt(rmse), nlpd
	}
	for k, rule := range []experts.Rule{experts.Nearest, experts.RBCM} {
		s := p.Scores[k]
		rmse, nlpd := score(rule, p.Temperature)
		if s.Combine != rule || s.Rows != n {
			t.Errorf("scores %+v", s)
		}
		near(t, string(rule), []float64{s.RMSE, s.NLPD}, []float64{rmse, nlpd})
	}
	for _, factor := range []float64{0.8, 1.25} {
		if _, worse := score(experts.RBCM, factor*p.Temperature); worse < p.Scores[1].NLPD {
			t.Errorf("NLPD %v at %v times the temperature %v, %v there", worse, factor, p.Temperature, p.Scores[1].NLPD)
		}
	}
}

// slow predicts point j of xs by the formulas of the literature, from the training rows except one.
func (tab *table) slow(t *testing.T, y []float64, xs *kernel.Points, j, except int, rule experts.Rule, temperature float64) (mean, variance, prior float64) {
	star := tab.covariance(xs, tab.x)
	prior = tab.covariance(xs, xs).At(j, j)
	near := tab.nearest([]float64{xs.Column(0)[j], xs.Column(1)[j]})
	k := tab.covariance(tab.x, tab.x)
	sumBeta, precision, weighted := 0.0, 0.0, 0.0
	for e := range 3 {
		var rows []int
		for i, of := range tab.of {
			if of == e && i != except {
				rows = append(rows, i)
			}
		}
		s, ks, ye := mat.NewSymDense(len(rows), nil), mat.NewVecDense(len(rows), nil), mat.NewVecDense(len(rows), nil)
		for a, i := range rows {
			for b, h := range rows {
				if b <= a {
					s.SetSym(a, b, k.At(i, h))
				}
			}
			s.SetSym(a, a, s.At(a, a)+tab.noise[i])
			ks.SetVec(a, star.At(j, i))
			ye.SetVec(a, y[i])
		}
		var solved mat.VecDense
		var chol mat.Cholesky
		if !chol.Factorize(s) || chol.SolveVecTo(&solved, ks) != nil {
			t.Fatal("not positive definite")
		}
		mu, v := mat.Dot(&solved, ye), prior-mat.Dot(&solved, ks)
		if rule == experts.Nearest && e == near {
			return mu, v, prior
		}
		beta := 0.5 * (math.Log(prior) - math.Log(v))
		sumBeta += beta
		precision += beta / v
		weighted += beta / v * mu
	}
	full := precision + (1-sumBeta)/prior
	tempered := (precision-sumBeta/prior)/temperature + 1/prior
	return weighted / full, 1 / tempered, prior
}
