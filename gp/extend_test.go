package gp

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distuv"

	"gpfit/cpu"
	"gpfit/device"
	"gpfit/device/devicetest/testmethod"
	"gpfit/internal/matrixrows"
	"gpfit/internal/score"
	"gpfit/internal/testcheck"
	"gpfit/kernel"
	"gpfit/kernel/kerneltest"
	"gpfit/method/merged"
	"gpfit/method/tiles"
)

// extendTolerance is relative to the largest element; newModel has a condition number near 1e4.
const extendTolerance = 1e-10

// addition returns the last count rows of a model as new rows, and the model without them.
func addition(t *testing.T, whole *Model, count int) (*Model, Addition) {
	t.Helper()
	n := whole.N() - count
	add := Addition{N: count, Noise: RowNoise{}}
	for i := n; i < whole.N(); i++ {
		add.X = append(add.X, whole.X[2*i], 7, whole.X[2*i+1])
		if whole.Noise.WeightColumn != "" {
			add.Noise.Weight = append(add.Noise.Weight, whole.NoiseVariance/whole.TrainNoise[i])
		}
		if whole.Noise.Column != "" {
			add.Noise.Known = append(add.Noise.Known, (whole.TrainNoise[i]-whole.NoiseVariance)*whole.Scaling.YScale*whole.Scaling.YScale)
		}
	}
	part := *whole
	part.X, part.Y, part.Alpha = whole.X[:2*n], nil, make([]float64, n*whole.T())
	for k := range whole.T() {
		y := whole.Y[k*whole.N() : (k+1)*whole.N()]
		part.Y, add.Y = append(part.Y, y[:n]...), append(add.Y, y[n:]...)
	}
	if whole.TrainNoise != nil {
		part.TrainNoise = whole.TrainNoise[:n]
	}
	return settled(t, &part), add
}

// settled returns the model with the weights of a fresh factorization.
func settled(t testing.TB, m *Model) *Model {
	t.Helper()
	p := testcheck.Get(m.Condition(t.Context(), backend))(t)
	defer p.Close()
	one := *m
	p.whole = &one
	testcheck.Do(t, p.settle(t.Context()))
	return &one
}

// variants returns models with every kind of mean, noise and targets.
func variants(t *testing.T, n int) map[string]*Model {
	free := newModel(t, n)
	gls := newModel(t, n)
	gls.Mean.LeastSquares = true
	several := newModel(t, n)
	several.Mean.LeastSquares = true
	for k := range 3 {
		s := Target{Name: fmt.Sprint("y", k), YMean: 100 + float64(k), YScale: 3, Coefficients: slices.Clone(several.Mean.Coefficients)}
		several.Targets = append(several.Targets, s)
		if k > 0 {
			for i := range n {
				several.Y = append(several.Y, several.Y[i]*float64(1-k)+float64(i%7))
			}
		}
	}
	several.Alpha = make([]float64, len(several.Y))
	known := newModel(t, n)
	known.Noise.Column = "v"
	for i := range n {
		known.TrainNoise = append(known.TrainNoise, known.NoiseVariance+0.01*float64(1+i%5))
	}
	weighted := newModel(t, n)
	weighted.Noise.WeightColumn = "w"
	for i := range n {
		weighted.TrainNoise = append(weighted.TrainNoise, weighted.NoiseVariance/float64(1+i%5))
	}
	known.Jitter = 1e-6
	return map[string]*Model{"free mean": free, "least squares": gls, "targets": several, "known noise": known, "weights": weighted}
}

// TestExtend compares with a fresh factorization of all rows.
func TestExtend(t *testing.T) {
	ctx := t.Context()
	for name, whole := range variants(t, 200) {
		for _, count := range []int{1, 7, 64, 130} {
			part, add := addition(t, whole, count)
			before := testcheck.Get(part.Condition(ctx, backend))(t)
			stored := testcheck.Get(Load(saved(t, before.SaveWithFactor)))(t)
			want := settled(t, whole)
			for how, extend := range map[string]func(context.Context, device.Backend, Addition) (*Posterior, *Extension, error){
				"from the file": stored.Extend, "from the posterior": before.Extend, "afresh": part.Extend,
			} {
				p, e := testcheck.Get2(extend(ctx, backend, add))(t)
				if e.Extended != (how != "afresh") {
					t.Errorf("%s, %s: extended %v", name, how, e.Extended)
				}
				got := p.whole
				near(t, fmt.Sprintf("α of %s, %d rows %s", name, count, how), got.Alpha, want.Alpha)
				near(t, fmt.Sprintf("coefficients of %s, %d rows %s", name, count, how), got.Mean.Coefficients, want.Mean.Coefficients)
				if math.Abs(got.NLML-want.NLML) > extendTolerance*math.Abs(want.NLML) || !slices.Equal(got.X, whole.X) || !slices.Equal(got.Y, whole.Y) {
					t.Errorf("%s, %d rows %s: NLML %v, want %v", name, count, how, got.NLML, want.NLML)
				}
				if len(part.Alpha) != (200-count)*part.T() || len(part.Y) != len(part.Alpha) {
					t.Error("the model changed")
				}
				p.Close()
			}
			before.Close()
		}
	}
}

func near(t *testing.T, what string, got, want []float64) {
	t.Helper()
	testcheck.Near(t, what, got, want, 0, extendTolerance*floats.Norm(want, math.Inf(1)))
}

// newDense returns the differences of a target of new rows from what the model predicts, and the covariance of the
// observations: Rasmussen & Williams (2006), eq. 2.41 and 2.42, by dense matrices.
func newDense(t *testing.T, part *Model, add Addition, target int) (d *mat.VecDense, c *mat.Dense) {
	t.Helper()
	grown, n, m := testcheck.Get(add.to(part))(t), part.N(), add.N
	k := testcheck.Get(testcheck.Get(grown.covariance())(t).prior(t.Context(), grown.Points(), nil))(t)
	sigma, noise := mat.NewDense(n+m, n+m, k.Cov), grown.NoiseDiagonal()
	for i := range n + m {
		sigma.Set(i, i, sigma.At(i, i)+noise[min(i, len(noise)-1)])
	}
	one := grown.Target(target)
	y := mat.NewVecDense(n+m, one.Scaling.Targets(one.Y))
	var w, solved mat.Dense // Σ₂₁Σ₁₁⁻¹
	testcheck.Do(t, solved.Solve(sigma.Slice(0, n, 0, n), sigma.Slice(0, n, n, n+m)))
	w.CloneFrom(solved.T())
	c, d = mat.NewDense(m, m, nil), mat.NewVecDense(m, nil)
	c.Mul(&w, sigma.Slice(0, n, n, n+m))
	c.Sub(sigma.Slice(n, n+m, n, n+m), c)
	if q := len(one.Mean.Basis); q > 0 {
		h := mat.DenseCopyOf(mat.NewDense(q, n+m, one.Mean.Basis.Evaluate(grown.Points())).T())
		beta := mat.NewVecDense(q, slices.Clone(one.Mean.Coefficients))
		if one.Mean.LeastSquares {
			var whole, a, r, spread, added mat.Dense
			testcheck.Do(t, a.Solve(sigma.Slice(0, n, 0, n), h.Slice(0, n, 0, q)))
			whole.Mul(h.Slice(0, n, 0, q).T(), &a)
			beta.MulVec(a.T(), y.SliceVec(0, n))
			testcheck.Do(t, beta.SolveVec(&whole, beta))
			r.Mul(&w, h.Slice(0, n, 0, q))
			r.Sub(h.Slice(n, n+m, 0, q), &r)
			testcheck.Do(t, spread.Solve(&whole, r.T()))
			added.Mul(&r, &spread)
			c.Add(c, &added)
		}
		var means mat.VecDense
		means.MulVec(h, beta)
		y.SubVec(y, &means)
	}
	d.MulVec(&w, y.SliceVec(0, n))
	d.SubVec(y.SliceVec(n, n+m), d)
	return d, c
}

// distance returns dᵀC⁻¹d of the given rows.
func distance(t *testing.T, d *mat.VecDense, c *mat.Dense, rows []int) float64 {
	t.Helper()
	own, part, solved := mat.NewVecDense(len(rows), nil), mat.NewDense(len(rows), len(rows), nil), mat.VecDense{}
	for i, at := range rows {
		own.SetVec(i, d.AtVec(at))
		for k, other := range rows {
			part.Set(i, k, c.At(at, other))
		}
	}
	testcheck.Do(t, solved.SolveVec(part, own))
	return mat.Dot(own, &solved)
}

// TestExtensionScores compares the scores of new rows with dense matrices, by the factor and by a method without one, and
// with an outlying row for a model that has found such rows.
func TestExtensionScores(t *testing.T) {
	const count, off = 12, 5
	sampled := variants(t, 90)
	robust := newModel(t, 90)
	robust.Mean.LeastSquares = true
	robust.Noise.Outlying, robust.Noise.OutlyingVariances = []int{4, 17}, []float64{9, 16}
	robust.TrainNoise = testcheck.Slice(90, func(i int) float64 { return robust.NoiseVariance + map[int]float64{4: 9, 17: 16}[i] })
	robust.Y[90-count+off] += 40
	sampled["robust"] = robust
	for name, whole := range sampled {
		part, add := addition(t, whole, count)
		on := onCPU().Capabilities().Devices
		for _, b := range slices.Concat([]device.Backend{backend}, testcheck.Get(tiles.Method{}.Backends(on))(t), testcheck.Get(merged.Method{}.Backends(on))(t)) {
			p, e := testcheck.Get2(part.Extend(t.Context(), b, add))(t)
			p.Close()
			for k, got := range e.Targets {
				d, c := newDense(t, part, add, k)
				rows, want, unit := matrixrows.All(count), ExtensionScores{Name: got.Name}, part.Target(k).Scaling.YScale
				for i := range count {
					z, std := d.AtVec(i)/math.Sqrt(c.At(i, i)-part.Jitter), unit*math.Sqrt(c.At(i, i)-part.Jitter)
					want.RMSE += unit * unit * d.AtVec(i) * d.AtVec(i) / count
					want.NLPD += (z*z/2 + math.Log(std*math.Sqrt(2*math.Pi))) / count
					if math.Abs(z) <= score.Z95 {
						want.Coverage95 += 1.0 / count
					}
				}
				all := distance(t, d, c, rows)
				if name == "robust" {
					rows, want.Outlying = slices.Delete(rows, off, off+1), 1
				}
				want.RMSE, want.Deviance = math.Sqrt(want.RMSE), distance(t, d, c, rows)
				below, beyond := distuv.ChiSquared{K: count}, distuv.ChiSquared{K: float64(len(rows))}
				want.PValue = min(1, 2*below.CDF(all), 2*beyond.Survival(want.Deviance))
				if diff := cmp.Diff(want, got, cmpopts.EquateApprox(1e-8, 0)); diff != "" {
					t.Errorf("%s, method %s: %s", name, e.Method, diff)
				}
			}
		}
	}
}

// TestDrawnDeviance compares the deviance and p-value of a model with draws with the models of its draws.
func TestDrawnDeviance(t *testing.T) {
	const count = 9
	whole := newModel(t, 60)
	whole.Mean.LeastSquares = true
	part, add := addition(t, whole, count)
	drawn := withDraws(part, 7)
	after, e := testcheck.Get2(drawn.Extend(t.Context(), backend, add))(t)
	defer after.Close()
	mean, below, beyond := 0.0, 0.0, 0.0
	for k := range 7 {
		d, c := newDense(t, settled(t, drawn.Draws.of(part, k)), add, 0)
		v, chi := distance(t, d, c, matrixrows.All(count)), distuv.ChiSquared{K: count}
		mean, below, beyond = mean+v/7, below+chi.CDF(v)/7, beyond+chi.Survival(v)/7
	}
	testcheck.Within(t, e.Targets[0].Deviance, mean, 1e-8*mean, "deviance")
	testcheck.Within(t, e.Targets[0].PValue, 2*min(below, beyond), 1e-8, "p-value")
}

// TestExtendErrors checks what an addition cannot have.
func TestExtendErrors(t *testing.T) {
	ctx := t.Context()
	models := variants(t, 40)
	if _, _, err := models["free mean"].Extend(ctx, backend, Addition{X: make([]float64, 5), Y: make([]float64, 2), N: 2}); !errors.As(err, new(*ShapeError)) {
		t.Errorf("a wrong shape: %v", err)
	}
	var noise *NoiseError
	if _, _, err := models["known noise"].Extend(ctx, backend, Addition{X: make([]float64, 3), Y: make([]float64, 1), N: 1}); !errors.As(err, &noise) {
		t.Errorf("unknown noise: %v", err)
	}
	if _, _, err := models["free mean"].Extend(ctx, backend, Addition{X: make([]float64, 3), Y: []float64{math.NaN()}, N: 1}); !errors.As(err, new(*RangeError)) {
		t.Errorf("a target that is not a number: %v", err)
	}
	// Twice the same row without noise is not positive definite.
	twice := models["free mean"]
	twice.NoiseVariance = 0
	if _, _, err := twice.Extend(ctx, backend, Addition{X: []float64{twice.X[0], 0, twice.X[1]}, Y: twice.Y[:1], N: 1}); err != nil && !errors.As(err, new(*device.NotPDError)) {
		t.Errorf("a repeated row: %v", err)
	}
}

// TestExtendRows checks that the numbers of rows continue the table's numbers.
func TestExtendRows(t *testing.T) {
	m := newModel(t, 3)
	m.Rows, m.HeldOut = []float64{0, 2, 3}, &HeldOut{Rows: []int{1, 4}}
	if got := (&Addition{N: 2}).rowNumbers(m); !slices.Equal(got, []float64{0, 2, 3, 5, 6}) {
		t.Error(got)
	}
}

// BenchmarkExtend adds 40 rows to a model of 4,000, by extending its factor and by a
// fresh factorization of all rows; both score the new rows.
func BenchmarkExtend(b *testing.B) {
	const n, count = 4000, 40
	m := newModel(b, n)
	add := Addition{X: newRows(count), N: count}
	for i := range count {
		add.Y = append(add.Y, 100+float64(i%3))
	}
	before := testcheck.Get(m.Condition(b.Context(), backend))(b)
	defer before.Close()
	for name, extend := range map[string]func(context.Context, device.Backend, Addition) (*Posterior, *Extension, error){
		"extended": before.Extend, "afresh": m.Extend,
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				p, _ := testcheck.Get2(extend(b.Context(), backend, add))(b)
				p.Close()
			}
		})
	}
}

// TestMeans checks that means alone have the bits of predictions with variances, on a
// conditioned posterior and without one, and that the CPU makes no workspace for them.
func TestMeans(t *testing.T) {
	const m = 77
	models := version2Models(t)
	models["long"] = newModel(t, 700) // longer than a tile
	rows := newRows(m)
	for name, model := range models {
		for _, threads := range []int{1, 3} {
			b := testcheck.Get(cpu.New(device.Options{Threads: threads}))(t)
			posterior := testcheck.Get(model.Condition(t.Context(), b))(t)
			var noise RowNoise
			if model.Noise.GroupColumn != "" {
				noise.DefaultGroup = "a"
			}
			want := testcheck.Get(posterior.PredictTargets(t.Context(), rows, m, noise))(t)
			other := testcheck.Get(posterior.PredictMeans(t.Context(), rows, m))(t)
			means := newMeans(t, model, b)
			if means.ws != nil {
				t.Error("the CPU made a workspace for means")
			}
			got := predictMeans(t, means, rows, m)
			for i := range want {
				if !slices.Equal(got[i], want[i].Mean) || !slices.Equal(other[i], want[i].Mean) {
					t.Errorf("%s, %d threads, target %d: means differ", name, threads, i)
				}
			}
			posterior.Close()
		}
	}
}

// TestMeansElsewhere checks that a method that needs Form gives the same means up to rounding.
func TestMeansElsewhere(t *testing.T) {
	const m = 20
	model, rows := newModel(t, 40), newRows(m)
	want, got := predictMeans(t, newMeans(t, model, backend), rows, m), predictMeans(t, newMeans(t, model, testmethod.New()), rows, m)
	testcheck.Near(t, "means", got[0], want[0], 1e-9, 0) // rounding, times the condition of the kernel's sums
}

func TestMeansErrors(t *testing.T) {
	means := newMeans(t, newModel(t, 40), backend)
	if _, err := means.PredictMeans(t.Context(), newRows(3)[1:], 3); err == nil {
		t.Error("rows of the wrong length")
	}
}

func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	m, rows := newModel(t, 20), newRows(5)
	_, means := newMeans(t, m, backend).PredictMeans(ctx, rows, 5)
	_, gradient := condition(t, m).MeanGradient(ctx, rows, 5)
	many := kernel.NewPoints(make([]float64, 2*rowPiece+7), 2*rowPiece+7, 1)
	_, prior := covariance{kerneltest.Program(t, "rbf", 1), []float64{1.5, 4}}.prior(ctx, many, nil)
	for what, err := range map[string]error{"means": means, "gradient": gradient, "prior": prior} {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s: error %v, want a cancelled context's", what, err)
		}
	}
}

func newMeans(t *testing.T, m *Model, b device.Backend) *Posterior {
	t.Helper()
	means := testcheck.Get(m.Means(t.Context(), b))(t)
	t.Cleanup(func() { means.Close() })
	return means
}

func predictMeans(t *testing.T, means *Posterior, rows []float64, m int) [][]float64 {
	t.Helper()
	return testcheck.Get(means.PredictMeans(t.Context(), rows, m))(t)
}
