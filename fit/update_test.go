package fit

import (
	"math"
	"slices"
	"testing"

	"gpfit/fit/columns"
	"gpfit/fit/dataset"
	"gpfit/fit/problem"
	"gpfit/gp"
	"gpfit/internal/matrixrows"
	"gpfit/internal/testcheck"
	"gpfit/internal/transform"
	"gpfit/method"
)

// TestUpdateScores checks that the scores of new rows equal the scores of gpfit predict --score, for models of every kind and
// by each method that computes with them.
func TestUpdateScores(t *testing.T) {
	const n, more = 64, 16
	line := drawn(7, 1, n+more, "x y", func(i int, _, normal random) []float64 {
		x := float64(i/2) / 8 // each twice
		return []float64{x, 20 + x + 3*math.Sin(x) + 0.5*normal()}
	})
	grid := drawn(7, 2, n+more, "u v y", func(i int, _, normal random) []float64 {
		u, v := float64(i/8)/4, float64(i%8)/3
		return []float64{u, v, 20 + u*v + 3*math.Sin(2*u) + 0.5*normal()}
	})
	known, groups, weighted, several, wild := line, line, line, line, line
	known.NoiseVariance, groups.NoiseGroup, weighted.Weight = cycled(n+more, 0.1, 0.5, 2), cycled(n+more, "a", "b", "b"), cycled(n+more, 0.5, 1, 4)
	several.TargetName, several.TargetNames = "", []string{"one", "two"}
	several.Y = slices.Concat(line.Y, grid.Y)
	wild.Y = slices.Clone(line.Y)
	for _, i := range []int{9, 30, n + 3} {
		wild.Y[i] += 20
	}
	tails := line // far from the others, where the tail of the logarithm rules the expected value
	tails.X, tails.Y = slices.Clone(line.X), slices.Clone(line.Y)
	for i := n; i < n+more; i++ {
		tails.X[i] += 30
	}
	wide := []problem.Assignment{{Name: "signal_variance", Value: 900, Given: true}}
	used := map[string]int{}
	for name, c := range map[string]struct {
		d problem.Data
		o problem.Options
	}{
		"zero": {line, problem.Options{Mean: "zero"}}, "constant": {line, problem.Options{Mean: "constant"}}, "linear": {line, problem.Options{Mean: "linear"}},
		"bumps": {line, problem.Options{Mean: "linear + bumps(2)"}}, "seasons": {line, problem.Options{Mean: "seasonal(0.7, 2)"}}, "parameters": {line, problem.Options{Mean: "linear", MeanFit: problem.MeanFree}},
		"prior": {line, problem.Options{Mean: "poly(2)", MeanPrior: problem.MeanPrior{Variance: 2}}}, "features": {line, problem.Options{Mean: "constant", Kernel: "poly(3)"}},
		"log": {line, problem.Options{Mean: "linear", TargetTransform: transform.Log}}, "auto": {line, problem.Options{Mean: "linear", TargetTransform: transform.Auto}},
		"targets": {several, problem.Options{Mean: "linear"}}, "known noise": {known, problem.Options{Mean: "linear"}}, "groups": {groups, problem.Options{Mean: "linear"}},
		"weights": {weighted, problem.Options{Mean: "linear"}}, "robust": {wild, problem.Options{Mean: "linear", Robust: true}},
		"grid": {grid, problem.Options{Mean: "linear", Kernel: "rbf(dims=0)*matern32(dims=1)"}}, "jitter": {grid, problem.Options{Mean: "linear", NoNoise: true, MaxJitter: 1e-6, Kernel: "rbf"}},
		"draws": {line, problem.Options{Mean: "linear", Posterior: problem.AutoPosterior}}, "drawn log": {line, problem.Options{Mean: "zero", TargetTransform: transform.Log, Posterior: problem.Laplace, PosteriorDraws: 3}},
		"tails":        {tails, problem.Options{Mean: "zero", TargetTransform: transform.Log, Fix: wide}},
		"drawn tails":  {tails, problem.Options{Mean: "zero", TargetTransform: transform.Log, Posterior: problem.Laplace, PosteriorDraws: 3, Fix: wide}},
		"drawn groups": {groups, problem.Options{Mean: "linear", Posterior: problem.AutoPosterior}},
	} {
		if c.o.Kernel == "" {
			c.o.Kernel = "matern32"
		}
		if c.o.Posterior == "" {
			c.o.Posterior = problem.NoPosterior
		}
		m := modelOf(t, mustFit(t, c.d.Rows(matrixrows.All(n)), c.o))
		rest := c.d.Rows(matrixrows.All(n + more)[n:])
		add := gp.Addition{X: rest.X, Y: rest.Y, N: more, Noise: gp.RowNoise{Known: rest.NoiseVariance, Group: rest.NoiseGroup, Weight: rest.Weight}}
		for _, one := range method.All() {
			on, err := one.Backends(backend.Capabilities().Devices)
			if err != nil || one.About().Name == "mpi" {
				continue
			}
			p, err := m.Condition(t.Context(), on[0])
			if err != nil { // used says how often the method computes with a model
				continue
			}
			after, e := testcheck.Get2(m.Extend(t.Context(), on[0], add))(t)
			testcheck.Do(t, after.Close())
			for k, want := range predictedScores(t, p, add) {
				got := []float64{e.Targets[k].RMSE, e.Targets[k].NLPD, e.Targets[k].Coverage95}
				testcheck.Near(t, name+" by "+e.Method+": scores", got, []float64{want.RMSE, *want.NLPD, want.Coverage["95"]}, 1e-9, 0)
			}
			if robust := name == "robust"; robust != (e.Targets[0].Outlying == 1) || robust && e.Targets[0].PValue < 0.01 {
				t.Errorf("%s: %+v", name, e.Targets[0])
			}
			testcheck.Do(t, p.Close())
			used[e.Method]++
		}
	}
	for name, least := range map[string]int{"dense": 21, "merged": 21, "tiles": 21, "markov": 18, "finite": 1, "grid": 2} {
		if used[name] < least {
			t.Errorf("%d models by the method %s: %v", used[name], name, used)
		}
	}
}

// predictedScores returns the scores that gpfit predict prints.
func predictedScores(t *testing.T, p *gp.Posterior, add gp.Addition) []columns.Score {
	t.Helper()
	o, in, sum := columns.Predict{Probabilities: []float64{0.95}}, dataset.Rows{}, columns.Scorer{}
	for k := range p.Whole().T() {
		in.Observed = append(in.Observed, add.Y[k*add.N:(k+1)*add.N])
	}
	predicted := testcheck.Get(gp.Predict(t.Context(), p, add.X, add.N, add.Noise))(t)
	sum.Add(&o, in, o.Marginals(p.Whole(), predicted))
	return sum.Scores(&o, p.Whole())
}
