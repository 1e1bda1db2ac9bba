package gp

import (
	"context"
	"math"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"gpfit/internal/must"
	"gpfit/kernel"
)

// TestRelevanceByPredictions compares with predictions of rows whose columns were
// exchanged one at a time, by the device.
func TestRelevanceByPredictions(t *testing.T) {
	models := exportModels(t)
	models["plain"] = newModel(t, 30)
	for _, text := range []string{"matern12(ard)", "linear", "periodic(dims=2)*rbf", "formula(exp(-r/a)*cos(2*pi*r/b), a=1, b=2, dims=0) + rbf", "tent(dims=0) + rbf"} {
		models[text] = exampleModel(t, text, text == "linear")
	}
	two := newModel(t, 30)
	two.Y = append(two.Y, two.Y...)
	for i := range 30 {
		two.Y[30+i] = math.Cos(two.X[2*i])
	}
	second := NewScaling(StandardizeXY, two.X, two.Y[30:], 2)
	two.Alpha = append(two.Alpha, two.Alpha...)
	two.Targets = []Target{
		{Name: "y", YMean: two.Scaling.YMean, YScale: two.Scaling.YScale, Coefficients: two.Mean.Coefficients},
		{Name: "z", YMean: second.YMean, YScale: second.YScale, Coefficients: []float64{0.1, 0.2, -0.5}},
	}
	models["two targets"] = two
	for what, m := range models {
		if m.Experts != nil {
			continue // see Posterior.Relevance
		}
		got := must.Get(Relevance(context.Background(), m, 0))(t)
		for q, want := range relevanceByPredictions(t, m) {
			if math.Abs(got[q]-want) > 1e-9*(1+want) {
				t.Errorf("%s: relevance of column %d is %v, by predictions %v", what, q, got[q], want)
			}
		}
	}
}

func relevanceByPredictions(t *testing.T, m *Model) []float64 {
	all, d, pairs := len(m.FeatureNames), len(m.Columns), relevancePairs(m)
	row := func(i int) []float64 {
		full := make([]float64, all)
		for q, c := range m.Columns {
			full[c] = m.X[i*d+q]
		}
		return full
	}
	out := make([]float64, d)
	for q, c := range m.Columns {
		var rows []float64
		for _, pair := range pairs {
			changed := slices.Clone(row(pair[0]))
			changed[c] = row(pair[1])[c]
			rows = append(append(rows, row(pair[0])...), changed...)
		}
		parts := must.Get(condition(t, m).PredictTargets(context.Background(), rows, 2*len(pairs), RowNoise{}))(t)
		for k, part := range parts {
			sum := 0.0
			for i := range pairs {
				e := part.Mean[2*i] - part.Mean[2*i+1]
				sum += e * e
			}
			spread, y := 0.0, m.Target(k).Y
			for _, pair := range pairs {
				spread += (y[pair[0]] - y[pair[1]]) * (y[pair[0]] - y[pair[1]])
			}
			out[q] += sum / spread / float64(len(parts))
		}
		out[q] = math.Sqrt(out[q])
	}
	return out
}

// TestRelevancePairs checks that pairs differ, cover all rows of small tables evenly, and
// are fewer for tables with many columns.
func TestRelevancePairs(t *testing.T) {
	m := &Model{Columns: make([]int, 3), Y: make([]float64, 10)}
	pairs := relevancePairs(m)
	uses := make([]int, 10)
	for _, p := range pairs {
		uses[p[0]]++
		if p[0] == p[1] {
			t.Errorf("pair %v", p)
		}
	}
	if len(pairs) != relevanceRows || slices.Max(uses)-slices.Min(uses) > 1 {
		t.Errorf("%d pairs, rows used %v times", len(pairs), uses)
	}
	wide := &Model{Columns: make([]int, 5000), Y: make([]float64, 1000)}
	if n := len(relevancePairs(wide)); n != leastRelevanceRows {
		t.Errorf("%d pairs of 5,000 columns", n)
	}
}

// TestRelevanceThreads checks that rows run on no more threads than allowed, and that
// their number does not change a bit.
func TestRelevanceThreads(t *testing.T) {
	m := exampleModel(t, "rbf", false)
	prog := must.Get(m.Program())(t)
	var running, most atomic.Int64
	if err := eachRowOn(context.Background(), 2, 40, prog, m.Theta, func(*kernel.Evaluator, []float64, int) {
		now := running.Add(1)
		for old := most.Load(); now > old && !most.CompareAndSwap(old, now); old = most.Load() {
		}
		time.Sleep(time.Millisecond)
		running.Add(-1)
	}); err != nil || most.Load() > 2 {
		t.Errorf("%d rows at a time on 2 threads, error %v", most.Load(), err)
	}
	want := must.Get(Relevance(context.Background(), m, 1))(t)
	got, err := Relevance(context.Background(), m, 3)
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("relevance %v on 3 threads, %v on one, error %v", got, want, err)
	}
}
