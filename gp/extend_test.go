package gp

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/floats"

	"gpfit/cpu"
	"gpfit/device"
	"gpfit/device/devicetest/testmethod"
	"gpfit/internal/testcheck"
	"gpfit/kernel"
	"gpfit/kernel/kerneltest"
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
func settled(t *testing.T, m *Model) *Model {
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

// TestExtensionScores compares with predictions of the model before: row by row, and jointly.
func TestExtensionScores(t *testing.T) {
	ctx := t.Context()
	part, add := addition(t, newModel(t, 90), 12)
	p, e := testcheck.Get2(part.Extend(ctx, backend, add))(t)
	defer p.Close()
	before := testcheck.Get(part.Condition(ctx, backend))(t)
	defer before.Close()
	predicted := testcheck.Get(before.Predict(ctx, add.X, add.N))(t)
	rmse, nlpd, inside := 0.0, 0.0, 0.0
	for i, y := range add.Y {
		d := (y - predicted.Mean[i]) / predicted.Std[i]
		rmse += (y - predicted.Mean[i]) * (y - predicted.Mean[i]) / 12
		nlpd += (0.5*d*d + math.Log(predicted.Std[i]) + 0.5*math.Log(2*math.Pi)) / 12
		if y >= predicted.Lower95[i] && y <= predicted.Upper95[i] {
			inside += 1.0 / 12
		}
	}
	s := e.Targets[0]
	if math.Abs(s.RMSE-math.Sqrt(rmse)) > 1e-9 || math.Abs(s.NLPD-nlpd) > 1e-9 || math.Abs(s.Coverage95-inside) > 1e-9 {
		t.Errorf("%+v, want RMSE %v, NLPD %v, coverage %v", s, math.Sqrt(rmse), nlpd, inside)
	}
	// log p(new | old) = log p(all) − log p(old) gives the deviance by another path.
	logDets := [2]float64{}
	for i, q := range []*Posterior{p, before} {
		logDets[i], _, _ = q.Workspace().LogDet()
	}
	deviance := 2*(p.whole.NLML-part.NLML) - (logDets[0] - logDets[1]) - 12*math.Log(2*math.Pi)
	if math.Abs(s.Deviance-deviance) > 1e-8*deviance {
		t.Errorf("deviance %v, want %v", s.Deviance, deviance)
	}
	if s.PValue < 0 || s.PValue > 1 || twoSided(11.34032237742414, 12) < 0.99 || math.Abs(twoSided(26.216967305535853, 12)-0.02) > 1e-9 {
		t.Errorf("p-values %v, %v", s.PValue, twoSided(26.216967305535853, 12))
	}
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
