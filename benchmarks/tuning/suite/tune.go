package main

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"gpfit/fit"
	"gpfit/fit/problem"
	"gpfit/fit/summary"
	"gpfit/hyperopt"
)

// Starts of best: noises and lengthscales in all combinations, then random ones. An
// evaluation limit ends those that only creep; the best goes on from where it ended.
const (
	randomStarts  = 31
	startLimit    = 120
	withinNats    = 0.5
	lengthscaleSD = 1.5
)

var (
	startNoises  = []float64{1e-6, 1e-4, 1e-2, 0.1, 0.5}
	startFactors = []float64{0.05, 0.2, 1, 4, 15}
)

// best finds the best optimum of each pair by long starts over all rows.
func (j *job) best() error {
	done, err := read(j.out)
	if err != nil {
		return err
	}
	for _, p := range j.pairs() {
		if slices.ContainsFunc(done, func(r result) bool { return r.Pair == p.name() }) {
			continue
		}
		began := time.Now()
		d, err := p.data(j.data)
		if err != nil {
			return err
		}
		r, err := j.bestOf(p, d)
		if err != nil {
			return fmt.Errorf("%s: %w", p.name(), err)
		}
		r.Seconds = time.Since(began).Seconds()
		if err := j.add(r); err != nil {
			return err
		}
	}
	return nil
}

func (j *job) bestOf(p pair, d problem.Data) (result, error) {
	o := problem.Options{Kernel: p.kernel, Settings: hyperopt.Settings{Coarse: hyperopt.CoarseOff, MaxEvaluations: startLimit}}
	own, err := j.fit(d, problem.Options{Kernel: p.kernel, Settings: hyperopt.Settings{Coarse: hyperopt.CoarseOff, MaxEvaluations: 1}})
	if err != nil {
		return result{}, err
	}
	rng := rand.New(rand.NewPCG(1, 2))
	var ends []*summary.Report
	for _, set := range starts(own.Parameters, rng) {
		o.Set = set
		if r, err := j.fit(d, o); err == nil {
			ends = append(ends, r)
		}
	}
	slices.SortFunc(ends, func(a, b *summary.Report) int { return int(math.Copysign(1, a.NLML-b.NLML)) })
	for _, e := range ends[:2] {
		o.Settings.MaxEvaluations = 0
		o.Set = nil
		for name, v := range e.Parameters {
			o.Set = append(o.Set, problem.Assignment{Name: name, Value: v, Given: true})
		}
		if r, err := j.fit(d, o); err == nil {
			ends = append(ends, r)
		}
	}
	best := ends[0]
	for _, e := range ends {
		if e.NLML < best.NLML {
			best = e
		}
	}
	out := result{Pair: p.name(), NLML: best.NLML, Starts: len(ends), Status: best.Status, Parameters: best.Parameters}
	for _, e := range ends {
		if e.NLML <= best.NLML+withinNats {
			out.Near++
		}
	}
	return out, nil
}

// starts returns the start values of best.
func starts(own map[string]float64, rng *rand.Rand) [][]problem.Assignment {
	var names []string
	for name := range own {
		names = append(names, name)
	}
	slices.Sort(names)
	var out [][]problem.Assignment
	with := func(value func(name string) float64) {
		var set []problem.Assignment
		for _, name := range names {
			set = append(set, problem.Assignment{Name: name, Value: value(name), Given: true})
		}
		out = append(out, set)
	}
	for _, noise := range startNoises {
		for _, factor := range startFactors {
			with(func(name string) float64 {
				switch {
				case strings.HasPrefix(name, "noise"):
					return noise
				case strings.Contains(name, "lengthscale"):
					return own[name] * factor
				}
				return own[name]
			})
		}
	}
	for range randomStarts {
		shift := lengthscaleSD * rng.NormFloat64()
		noise := math.Exp(math.Log(1e-7) * rng.Float64())
		with(func(name string) float64 {
			switch {
			case strings.HasPrefix(name, "noise"):
				return noise
			case strings.Contains(name, "lengthscale"):
				return own[name] * math.Exp(shift+lengthscaleSD/1.5*rng.NormFloat64())
			}
			return own[name] * math.Exp(rng.NormFloat64())
		})
	}
	return out
}

// fit runs one fit.
func (j *job) fit(d problem.Data, o problem.Options) (*summary.Report, error) {
	task, err := fit.Prepare(d, o, problem.Events{})
	if err != nil {
		return nil, err
	}
	out, err := fit.Run(context.Background(), task, j.b)
	if err != nil {
		if out != nil {
			out.Close()
		}
		return nil, err
	}
	defer out.Close()
	return &out.Report, nil
}

// runs tunes each pair with each seed.
func (j *job) runs() error {
	done, err := read(j.out)
	if err != nil {
		return err
	}
	for seed := range uint64(j.seeds) {
		for _, p := range j.pairs() {
			if slices.ContainsFunc(done, func(r result) bool {
				return r.Pair == p.name() && r.Seed == seed && r.Label == j.label && r.Restarts == j.restarts
			}) {
				continue
			}
			d, err := p.data(j.data)
			if err != nil {
				return err
			}
			r, err := j.fit(d, problem.Options{Kernel: p.kernel, Settings: hyperopt.Settings{Restarts: j.restarts, Seed: seed}})
			if err != nil {
				return fmt.Errorf("%s, seed %d: %w", p.name(), seed, err)
			}
			line := result{Pair: p.name(), Label: j.label, NLML: r.NLML, Restarts: j.restarts, Seed: seed, Cost: cost(r),
				Seconds: r.Seconds, Status: r.Status, Parameters: r.Parameters}
			if err := j.add(line); err != nil {
				return err
			}
		}
	}
	return nil
}

// cost returns the evaluations of a fit, in values with gradient over all rows: a
// value counts a third, its gradient two thirds, and evaluations on m of n rows
// (m/n)³.
func cost(r *summary.Report) float64 {
	units := func(value, gradient int) float64 { return float64(value)/3 + 2*float64(gradient)/3 }
	sum := units(r.Evaluations.FullSizeValue, r.Evaluations.FullSizeGradient)
	for _, s := range r.Path {
		if s.Rows < r.N {
			sum += units(s.Value, s.Gradient) * math.Pow(float64(s.Rows)/float64(r.N), 3)
		}
	}
	return sum
}
