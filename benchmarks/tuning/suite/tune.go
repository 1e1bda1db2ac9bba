package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"gpfit/fit"
	"gpfit/fit/problem"
	"gpfit/fit/summary"
	"gpfit/graph"
	"gpfit/hyperopt"
)

// Starts of best: noises and lengthscales in all combinations, then random ones. An
// evaluation limit ends starts that only creep; the best goes on from where it ended. Tuning
// itself, with ownRestarts, is one more candidate.
const (
	randomStarts  = 31
	ownRestarts   = 20
	startLimit    = 120
	withinNats    = 0.5
	lengthscaleSD = 1.5
)

var (
	startNoises  = []float64{1e-6, 1e-4, 1e-2, 0.1, 0.5}
	startFactors = []float64{0.05, 0.2, 1, 4, 15}
)

// best finds the best optimum of a pair by long starts over all rows.
func (j *job) best(p pair, d problem.Data, seed uint64) (result, error) {
	long := func(set []problem.Assignment, evaluations int) (*summary.Report, error) {
		return j.fit(d, problem.Options{Mean: "zero", Kernel: p.kernel, Set: set, Settings: hyperopt.Settings{Coarse: hyperopt.CoarseOff, MaxEvaluations: evaluations}})
	}
	own, err := long(nil, 1)
	if err != nil {
		return result{}, err
	}
	var ends []*summary.Report
	for _, set := range starts(own.Parameters, rand.New(rand.NewPCG(1, 2+seed))) {
		if r, err := long(set, startLimit); err == nil {
			ends = append(ends, r)
		}
	}
	if r, err := j.fit(d, problem.Options{Mean: "zero", Kernel: p.kernel, Settings: hyperopt.Settings{Restarts: ownRestarts, Seed: seed}}); err == nil {
		ends = append(ends, r)
	}
	lower := func(a, b *summary.Report) int { return cmp.Compare(a.NLML, b.NLML) }
	slices.SortFunc(ends, lower)
	for _, e := range ends[:2] {
		if r, err := long(assign(e.Parameters, func(name string) float64 { return e.Parameters[name] }), 0); err == nil {
			ends = append(ends, r)
		}
	}
	best := slices.MinFunc(ends, lower)
	out := result{NLML: best.NLML, Starts: len(ends), Status: best.Status, Parameters: best.Parameters}
	for _, e := range ends {
		if e.NLML <= best.NLML+withinNats {
			out.Near++
		}
	}
	return out, nil
}

// assign gives each parameter a value, as if found by a fit: it does not widen the bounds, within which
// all ends have to be.
func assign(parameters map[string]float64, value func(name string) float64) (set []problem.Assignment) {
	for _, name := range slices.Sorted(maps.Keys(parameters)) {
		set = append(set, problem.Assignment{Name: name, Value: value(name), Given: true, Found: true})
	}
	return set
}

// starts returns the start values of best.
func starts(own map[string]float64, rng *rand.Rand) (out [][]problem.Assignment) {
	with := func(noise float64, lengthscale, other func() float64) {
		out = append(out, assign(own, func(name string) float64 {
			switch {
			case strings.HasPrefix(name, "noise"):
				return noise
			case strings.Contains(name, "lengthscale"):
				return own[name] * lengthscale()
			}
			return own[name] * other()
		}))
	}
	for _, noise := range startNoises {
		for _, factor := range startFactors {
			with(noise, func() float64 { return factor }, func() float64 { return 1 })
		}
	}
	for range randomStarts {
		shift := lengthscaleSD * rng.NormFloat64()
		noise := math.Exp(math.Log(1e-7) * rng.Float64())
		with(noise, func() float64 { return math.Exp(shift + lengthscaleSD/1.5*rng.NormFloat64()) }, func() float64 { return math.Exp(rng.NormFloat64()) })
	}
	return out
}

// fit runs one fit.
func (j *job) fit(d problem.Data, o problem.Options) (*summary.Report, error) {
	// The suite measures how low the objective gets, and what that takes.
	o.NoiseFloor, o.Posterior = problem.NoNoiseFloor, problem.NoPosterior
	task, err := fit.Prepare(d, o, problem.Events{})
	if err != nil {
		return nil, err
	}
	out, err := fit.Run(context.Background(), task, j.b)
	if out != nil {
		defer out.Close()
	}
	if err != nil {
		return nil, err
	}
	return &out.Report, nil
}

// tuned is the result of gpfit's own tuning. A sum also has the lowest result of its terms alone.
func (j *job) tuned(p pair, d problem.Data, seed uint64) (result, error) {
	own := func(kernel string) (*summary.Report, error) {
		return j.fit(d, problem.Options{Mean: "zero", Kernel: kernel, Settings: hyperopt.Settings{Restarts: j.restarts, Seed: seed, Coarse: hyperopt.Coarse(j.coarse)}})
	}
	r, err := own(p.kernel)
	if err != nil {
		return result{}, err
	}
	out := result{NLML: r.NLML, Cost: cost(r), Hessians: hessian(r), Status: r.Status, Parameters: r.Parameters, Warnings: r.Warnings}
	if terms := strings.Split(p.kernel, " + "); len(terms) > 1 {
		for _, term := range terms {
			r, err := own(term)
			if err != nil {
				return result{}, fmt.Errorf("%s alone: %w", term, err)
			}
			if out.Term == nil || r.NLML < *out.Term {
				out.Term = &r.NLML
			}
		}
	}
	out.Search, err = json.Marshal(r.Search)
	return out, err
}

// hessian returns what the Hessians of a fit cost.
func hessian(r *summary.Report) float64 {
	return float64(r.Evaluations.Hessian) * float64(2*graph.Probes(r.N)+2) * float64(len(r.GradientLog)) / float64(r.N)
}

// cost returns the evaluations of a fit, in values with gradient over all rows: a value counts a
// third, its gradient two thirds, evaluations on m of n rows (m/n)³, and a Hessian for p parameters
// with m random vectors (2m + 2)·p/n, as if all were over all rows.
func cost(r *summary.Report) float64 {
	units := func(value, gradient int) float64 { return float64(value)/3 + 2*float64(gradient)/3 }
	sum := units(r.Evaluations.FullSizeValue, r.Evaluations.FullSizeGradient) + hessian(r)
	for _, s := range r.Path {
		if s.Rows < r.N {
			sum += units(s.Value, s.Gradient) * math.Pow(float64(s.Rows)/float64(r.N), 3)
		}
	}
	return sum
}
