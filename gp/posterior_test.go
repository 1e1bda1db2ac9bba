package gp

import (
	"math"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"gonum.org/v1/gonum/floats"

	"gpfit/internal/testcheck"
	"gpfit/kernel"
	"gpfit/mean"
)

// TestLeaveOneOut predicts every row from an explicit inverse of the others.
func TestLeaveOneOut(t *testing.T) {
	const n = 60
	m := newModel(t, n)
	got := testcheck.Get(condition(t, m).LeaveOneOut(t.Context()))(t)
	var squares, nlpd, total, mean float64
	for _, y := range m.Y {
		mean += y / n
	}
	inside := map[float64]int{}
	for i := range n {
		ref := newReference(t, m)
		x, y := ref.x[i], m.Y[i]
		ref.x = slices.Delete(slices.Clone(ref.x), i, i+1)
		ref.inv.Reset()
		ref.condition(t, slices.Delete(slices.Clone(m.Y), i, i+1))
		mu, std := ref.posteriorMean(x), math.Sqrt(ref.posteriorCov(x, x)+ref.noise)
		density := math.Log(math.Exp(-(y-mu)*(y-mu)/(2*std*std)) / (std * math.Sqrt(2*math.Pi)))
		for what, pair := range map[string][2]float64{
			"mean": {got.Mean[i], mu}, "std": {got.Std[i], std}, "target": {got.Target[i], y}, "residual": {got.Residual[i], y - mu},
			"standardized residual": {got.Standardized[i], (y - mu) / std}, "log density": {got.LogDensity[i], density},
		} {
			// Residuals are differences of numbers near 100.
			if math.Abs(pair[0]-pair[1]) > 1e-10*max(1, math.Abs(pair[1])) {
				t.Errorf("row %d: %s %v, want %v", i, what, pair[0], pair[1])
			}
		}
		squares += (y - mu) * (y - mu)
		total += (y - mean) * (y - mean)
		nlpd -= density / n
		for p, z := range map[float64]float64{0.5: 0.6744897501960817, 0.9: 1.6448536269514722, 0.95: 1.959963984540054} {
			if math.Abs(y-mu) <= z*std {
				inside[p]++
			}
		}
	}
	s := got.Summary()
	for what, pair := range map[string][2]float64{
		"RMSE": {s.RMSE, math.Sqrt(squares / n)}, "NLPD": {s.NLPD, nlpd}, "Q²": {s.Q2, 1 - squares/total},
		"50 %": {s.Coverage50, float64(inside[0.5]) / n}, "90 %": {s.Coverage90, float64(inside[0.9]) / n}, "95 %": {s.Coverage95, float64(inside[0.95]) / n},
	} {
		if math.Abs(pair[0]-pair[1]) > 1e-10 {
			t.Errorf("%s %v, want %v", what, pair[0], pair[1])
		}
	}
	if s.N != n || s.Coverage50 == s.Coverage95 {
		t.Errorf("summary %+v", s)
	}
}

// TestLeaveOneOutJitter checks that jitter is part of Σ but not of an observation.
func TestLeaveOneOutJitter(t *testing.T) {
	m := newModel(t, 20)
	m.NoiseVariance = 0.03
	m.Jitter = 0.02
	got := testcheck.Get(condition(t, m).LeaveOneOut(t.Context()))(t)
	m.NoiseVariance, m.Jitter = 0.05, 0
	whole := testcheck.Get(condition(t, m).LeaveOneOut(t.Context()))(t)
	for i := range got.Std {
		want := math.Sqrt(whole.Std[i]*whole.Std[i] - 0.02*m.Scaling.YScale*m.Scaling.YScale)
		if math.Abs(got.Std[i]-want) > 1e-12*want || got.Mean[i] != whole.Mean[i] {
			t.Errorf("row %d: %v ± %v, want ± %v", i, got.Mean[i], got.Std[i], want)
		}
	}
}

// TestLeaveOneOutLeastSquares leaves rows out and refits the mean's coefficients without them.
func TestLeaveOneOutLeastSquares(t *testing.T) {
	const n = 40
	m := leastSquaresModel(t, n)
	got := testcheck.Get(condition(t, m).LeaveOneOut(t.Context()))(t)
	for i := 0; i < n; i += 3 {
		rest := *m
		rest.X = slices.Delete(slices.Clone(m.X), 2*i, 2*i+2)
		rest.Y = slices.Delete(slices.Clone(m.Y), i, i+1)
		refitLeastSquares(t, &rest)
		p := condition(t, &rest)
		want := testcheck.Get(p.Predict(t.Context(), []float64{m.X[2*i], 0, m.X[2*i+1]}, 1))(t)
		if math.Abs(got.Mean[i]-want.Mean[0]) > 1e-10*math.Abs(want.Mean[0]) || math.Abs(got.Std[i]-want.Std[0]) > 1e-9*want.Std[0] {
			t.Errorf("row %d: %v ± %v, want %v ± %v", i, got.Mean[i], got.Std[i], want.Mean[0], want.Std[0])
		}
	}
}

// TestLeavePlacesOut leaves out all rows with the inputs of a row, and refits the coefficients.
func TestLeavePlacesOut(t *testing.T) {
	const n = 40
	m := leastSquaresModel(t, n)
	for i := range n { // pairs and triples
		copy(m.X[2*i:2*i+2], m.X[2*(i%16):2*(i%16)+2])
	}
	refitLeastSquares(t, m)
	got := testcheck.Get(condition(t, m).LeaveOneOut(t.Context()))(t)
	for i := range n {
		rest := *m
		rest.X, rest.Y = nil, nil
		for k := range n {
			if k%16 != i%16 {
				rest.X, rest.Y = append(rest.X, m.X[2*k:2*k+2]...), append(rest.Y, m.Y[k])
			}
		}
		refitLeastSquares(t, &rest)
		want := testcheck.Get(condition(t, &rest).Predict(t.Context(), []float64{m.X[2*i], 0, m.X[2*i+1]}, 1))(t)
		if math.Abs(got.Mean[i]-want.Mean[0]) > 1e-10*math.Abs(want.Mean[0]) || math.Abs(got.Std[i]-want.Std[0]) > 1e-9*want.Std[0] {
			t.Errorf("row %d: %v ± %v, want %v ± %v", i, got.Mean[i], got.Std[i], want.Mean[0], want.Std[0])
		}
	}
	if s := got.Summary(); s.Places != 16 {
		t.Errorf("%+v", s)
	}
}

// refitLeastSquares finds coefficients and weights of m on its rows.
func refitLeastSquares(t testing.TB, m *Model) {
	t.Helper()
	m.Alpha = make([]float64, m.N())
	p := condition(t, m)
	testcheck.Get(p.leastSquares(t.Context()))(t)
	m.Mean.Coefficients = p.gls.Coefficients(m.Scaling.Targets(m.Y))
	weigh(t, m)
}

func scaled(v []float64, factor float64) []float64 {
	return floats.ScaleTo(make([]float64, len(v)), factor, v)
}

// withDraws returns the model with draws around its parameters.
func withDraws(m *Model, count int) *Model {
	one := *m
	d := &Draws{Method: "hmc"}
	for k := range count {
		scale := math.Exp(0.3 * float64(k-count/2))
		noise := []float64{m.NoiseVariance / scale}
		if len(m.Noise.Labels) > 0 {
			noise = scaled(m.Noise.Variances, scale)
		}
		d.Theta, d.Noise = append(d.Theta, scaled(m.Theta, scale)), append(d.Noise, noise)
	}
	one.Draws = d
	return &one
}

// TestMixture compares with the average of the models of the draws, each conditioned
// alone, and quantiles with the distribution function of the mixture.
func TestMixture(t *testing.T) {
	ctx := t.Context()
	rows := newRows(9)
	for name, m := range variants(t, 50) {
		m = withDraws(m, 3)
		var noise RowNoise
		if m.Noise.Column != "" {
			noise.Known = slices.Repeat([]float64{0.4}, 9)
		}
		x := testcheck.Get(NewMixture(ctx, m, backend, 0))(t)
		means := testcheck.Get(x.PredictMeans(ctx, rows, 9))(t)
		got := testcheck.Get(x.Predict(ctx, rows, 9, noise))(t)
		again := testcheck.Get(x.Predict(ctx, rows, 9, noise))(t) // makes the factors that it keeps
		third := testcheck.Get(x.Predict(ctx, rows, 9, noise))(t)
		for target := range got {
			for _, other := range []*Prediction{again[target], third[target]} {
				if !slices.Equal(other.Mean, got[target].Mean) || !slices.Equal(other.Std, got[target].Std) || !slices.Equal(other.StdLatent, got[target].StdLatent) {
					t.Errorf("%s: a later prediction differs", name)
				}
			}
			if !slices.Equal(means[target], got[target].Mean) || !slices.Equal(testcheck.Get(x.PredictMeans(ctx, rows, 9))(t)[target], means[target]) {
				t.Errorf("%s: means alone differ: %v, %v", name, means[target], got[target].Mean)
			}
		}
		var parts [][]*Prediction
		for k := range 3 {
			one := settled(t, m.Draws.of(m, k))
			if m.Noise.Column != "" && math.Abs((one.TrainNoise[3]-one.NoiseVariance)-(m.TrainNoise[3]-m.NoiseVariance)) > 1e-15 {
				t.Errorf("known variance %v, want %v", one.TrainNoise[3]-one.NoiseVariance, m.TrainNoise[3]-m.NoiseVariance)
			}
			if m.Noise.WeightColumn != "" {
				testcheck.Within(t, one.TrainNoise[3]*4, one.NoiseVariance, 1e-15, "noise of weight 4")
				if noise := testcheck.Get(RowNoise{Weight: []float64{0, 1, 4}}.Variances(one, 3))(t); noise[0] != one.NoiseVariance || noise[1] != noise[0] || noise[2] != noise[0]/4 {
					t.Errorf("noise of the weights 0, 1 and 4: %v", noise)
				}
			}
			p := testcheck.Get(one.Condition(ctx, backend))(t)
			part := testcheck.Get(p.PredictTargets(ctx, rows, 9, noise))(t)
			p.Close()
			parts = append(parts, part)
		}
		for target, g := range got {
			lower, upper := g.Interval(0.8)
			for i := range 9 {
				mean, square, latent, below, above := 0.0, 0.0, 0.0, 0.0, 0.0
				for k := range parts {
					q := parts[k][target]
					mean += q.Mean[i] / 3
					square += (q.Std[i]*q.Std[i] + q.Mean[i]*q.Mean[i]) / 3
					latent += (q.StdLatent[i]*q.StdLatent[i] + q.Mean[i]*q.Mean[i]) / 3
					below += 0.5 * math.Erfc((q.Mean[i]-lower[i])/(q.Std[i]*math.Sqrt2)) / 3
					above += 0.5 * math.Erfc((upper[i]-q.Mean[i])/(q.Std[i]*math.Sqrt2)) / 3
				}
				if math.Abs(g.Mean[i]-mean) > 1e-8*math.Abs(mean) || math.Abs(g.Std[i]-math.Sqrt(square-mean*mean)) > 1e-5*g.Std[i] || math.Abs(g.StdLatent[i]-math.Sqrt(latent-mean*mean)) > 1e-5*g.Std[i] {
					t.Errorf("%s, row %d: %v ± %v, want %v ± %v", name, i, g.Mean[i], g.Std[i], mean, math.Sqrt(square-mean*mean))
				}
				if math.Abs(below-0.1) > 1e-9 || math.Abs(above-0.1) > 1e-9 {
					t.Errorf("%s, row %d: %v below and %v above the interval", name, i, below, above)
				}
			}
		}
		x.Close()
	}
}

// TestPredictAverages checks that a posterior averages over draws as a mixture does, and then has its own
// factor again.
func TestPredictAverages(t *testing.T) {
	rows := newRows(9)
	m := withDraws(newModel(t, 30), 4)
	x := testcheck.Get(NewMixture(t.Context(), m, backend, MostDraws))(t)
	defer x.Close()
	p := testcheck.Get(m.Condition(t.Context(), backend))(t)
	defer p.Close()
	own := testcheck.Get(p.Predict(t.Context(), rows, 9))(t)
	got := testcheck.Get(Predict(t.Context(), p, rows, 9, RowNoise{}))(t)
	if d := cmp.Diff(testcheck.Get(x.Predict(t.Context(), rows, 9, RowNoise{}))(t), got); d != "" || len(got[0].Parts) != 4 {
		t.Errorf("%d draws: %s", len(got[0].Parts), d)
	}
	if d := cmp.Diff(own, testcheck.Get(p.Predict(t.Context(), rows, 9))(t)); d != "" {
		t.Error(d)
	}
	m.Draws = nil
	if got = testcheck.Get(Predict(t.Context(), p, rows, 9, RowNoise{}))(t); got[0].Parts != nil {
		t.Error("an average without draws")
	}
}

// TestMixtureLimit checks which draws a limit takes.
func TestMixtureLimit(t *testing.T) {
	m := withDraws(newModel(t, 20), 10)
	for limit, want := range map[int][]int{0: {0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, 1: {5}, 2: {2, 7}, 5: {1, 3, 5, 7, 9}, 99: {0, 1, 2, 3, 4, 5, 6, 7, 8, 9}} {
		x := testcheck.Get(NewMixture(t.Context(), m, backend, limit))(t)
		if d := cmp.Diff(want, x.use); d != "" {
			t.Errorf("limit %d: %s", limit, d)
		}
		x.Close()
	}
	if _, err := NewMixture(t.Context(), newModel(t, 20), backend, 0); err == nil {
		t.Error("a mixture without draws")
	}
}

// TestDrawsFile checks that draws are read back, as version 4, and that impossible ones are refused.
func TestDrawsFile(t *testing.T) {
	m := withDraws(newModel(t, 12), 4)
	got, info := testcheck.Get2(Inspect(saved(t, m.Save)))(t)
	if d := cmp.Diff(m.Draws, got.Draws); d != "" || info.SchemaVersion != 4 {
		t.Errorf("version %d\n%s", info.SchemaVersion, d)
	}
	weighted := withDraws(variants(t, 12)["weights"], 4)
	if got, info := testcheck.Get2(Inspect(saved(t, weighted.Save)))(t); info.SchemaVersion != 7 || got.Noise.WeightColumn != "w" {
		t.Errorf("weights with draws: version %d, %+v", info.SchemaVersion, got.Noise)
	}
	for name, spoil := range map[string]func(d *Draws){
		"a short draw":      func(d *Draws) { d.Theta[2] = d.Theta[2][:1] },
		"a negative number": func(d *Draws) { d.Theta[1] = []float64{1, 1, -1, 1, 1} },
		"no noise":          func(d *Draws) { d.Noise = nil },
		"a coefficient":     func(d *Draws) { d.Coefficients = [][]float64{{1}} },
	} {
		bad := withDraws(newModel(t, 12), 4)
		spoil(bad.Draws)
		if err := bad.Save(t.TempDir() + "/m"); err == nil || !strings.Contains(err.Error(), "draw") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestRelevanceByPredictions compares with predictions of rows whose columns were
// exchanged one at a time, by the device.
func TestRelevanceByPredictions(t *testing.T) {
	models := wholeModels(t)
	models["plain"] = newModel(t, 30)
	for _, text := range []string{"matern12(ard)", "linear", "periodic(dims=2)*rbf", "formula(exp(-r/a)*cos(2*pi*r/b), a=1, b=2, dims=0) + rbf", "tent(dims=0) + rbf"} {
		models[text] = exampleModel(t, text, text == "linear")
	}
	models["targets"] = settled(t, variants(t, 30)["targets"])
	for what, m := range models {
		got := testcheck.Get(Relevance(t.Context(), m, 0))(t)
		testcheck.Near(t, what, got, relevanceByPredictions(t, m), 1e-9, 1e-9)
		blocks := testcheck.Get(newRowPairs(m).onHost(t.Context(), 0, 1))(t)
		if !slices.Equal(blocks, got) {
			t.Errorf("%s: relevance %v with a block for each column, %v with one", what, blocks, got)
		}
	}
	wide := &Model{Columns: make([]int, 40_000), Y: make([]float64, 8)}
	if got, err := newRowPairs(wide).relevance(1, nil); got != nil || err != nil {
		t.Errorf("relevance of 40,000 columns: %d numbers, %v", len(got), err)
	}
}

func relevanceByPredictions(t *testing.T, m *Model) []float64 {
	all, d, pairs := len(m.FeatureNames), len(m.Columns), newRowPairs(m).pairs
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
		parts := testcheck.Get(condition(t, m).PredictTargets(t.Context(), rows, 2*len(pairs), RowNoise{}))(t)
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
	pairs := newRowPairs(m).pairs
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
	if n := len(newRowPairs(wide).pairs); n != leastRelevanceRows {
		t.Errorf("%d pairs of 5,000 columns", n)
	}
}

// TestRelevanceThreads checks the number of threads, and that it does not change a bit.
func TestRelevanceThreads(t *testing.T) {
	m := exampleModel(t, "rbf", false)
	var running, most atomic.Int64
	if err := testcheck.Get(m.covariance())(t).eachRow(t.Context(), 2, 40, func(*kernel.Evaluator, []float64, int) {
		now := running.Add(1)
		for old := most.Load(); now > old && !most.CompareAndSwap(old, now); old = most.Load() {
		}
		time.Sleep(time.Millisecond)
		running.Add(-1)
	}); err != nil || most.Load() > 2 {
		t.Errorf("%d rows at a time on 2 threads, error %v", most.Load(), err)
	}
	want := testcheck.Get(Relevance(t.Context(), m, 1))(t)
	if got, err := Relevance(t.Context(), m, 3); err != nil || !slices.Equal(got, want) {
		t.Errorf("relevance %v on 3 threads, %v on one, error %v", got, want, err)
	}
}

// withSecond returns a model with two draws of its own and two of another kernel with another mean, and the four models alone.
func withSecond(t *testing.T, n int) (m *Model, alone []*Model) {
	m = withDraws(newModel(t, n), 2)
	own, second := withDraws(newModel(t, n), 2), newModel(t, n)
	second.Kernel, second.Theta, second.NoiseVariance = "linear + matern12", []float64{0.4, 1.1, 0.6}, 0.2
	second.Mean = Mean{Text: "constant", Basis: mean.Basis{{Group: mean.Constant}}, Coefficients: []float64{0}, LeastSquares: true}
	d := m.Draws
	d.Kernel, d.Mean, d.From = second.Kernel, &second.Mean, 2
	for k := range 4 {
		one := *newModel(t, n)
		if one.Theta, one.NoiseVariance = own.Draws.Theta[k%2], own.Draws.Noise[k%2][0]; k >= 2 {
			one = *second
			one.Theta, one.NoiseVariance = scaled(second.Theta, float64(k)), 0.1*float64(k)
			d.Theta, d.Noise = append(d.Theta, one.Theta), append(d.Noise, []float64{one.NoiseVariance})
			refitLeastSquares(t, &one)
		} else {
			weigh(t, &one)
		}
		alone = append(alone, &one)
	}
	return m, alone
}

// TestSecondModel compares a mixture with draws of a second model with the four models alone, before and after a file in the
// ninth schema version, and refuses impossible ones.
func TestSecondModel(t *testing.T) {
	m, alone := withSecond(t, 40)
	rows := newRows(6)
	loaded, info := testcheck.Get2(Inspect(saved(t, m.Save)))(t)
	if info.SchemaVersion != 9 {
		t.Errorf("version %d", info.SchemaVersion)
	}
	for _, m := range []*Model{m, loaded} {
		x := testcheck.Get(NewMixture(t.Context(), m, backend, 0))(t)
		for range 3 { // the second call makes the factors that it keeps
			got := testcheck.Get(x.Predict(t.Context(), rows, 6, RowNoise{}))(t)[0]
			means := testcheck.Get(x.PredictMeans(t.Context(), rows, 6))(t)[0]
			for i := range 6 {
				average, square := 0.0, 0.0
				for _, one := range alone {
					p := predict(t, one, rows)
					average, square = average+p.Mean[i]/4, square+(p.Std[i]*p.Std[i]+p.Mean[i]*p.Mean[i])/4
				}
				testcheck.Within(t, got.Mean[i], average, 1e-8*math.Abs(average), "mean of row %d", i)
				testcheck.Within(t, means[i], average, 1e-8*math.Abs(average), "mean alone of row %d", i)
				testcheck.Within(t, got.Std[i], math.Sqrt(square-average*average), 1e-5*got.Std[i], "deviation of row %d", i)
			}
		}
		x.Close()
	}
	old, _ := withSecond(t, 12)
	loadsAs(t, "v9_second", old)
	for name, spoil := range map[string]func(d *Draws){
		"no mean":        func(d *Draws) { d.Mean = nil },
		"a short draw":   func(d *Draws) { d.Theta[3] = d.Theta[3][:1] },
		"too few draws":  func(d *Draws) { d.From = 5 },
		"no kernel":      func(d *Draws) { d.Kernel = "nothing" },
		"a coefficient":  func(d *Draws) { d.Mean.Coefficients = nil },
		"unlike its own": func(d *Draws) { d.From = 3 },
	} {
		bad, _ := withSecond(t, 12)
		if spoil(bad.Draws); newHeader(bad).Validate() == nil {
			t.Errorf("%s is valid", name)
		}
	}
}
