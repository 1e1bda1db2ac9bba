package fit

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"gpfit/device"
	"gpfit/fit/internal/psis"
	"gpfit/fit/internal/sampler"
	"gpfit/fit/internal/starts"
	"gpfit/fit/problem"
	"gpfit/fit/tuning"
	"gpfit/hyperopt"
	"gpfit/hyperopt/descent"
	"gpfit/internal/each"
)

// draws are the draws of u by chain.
type draws struct {
	modes     []*mode // in the order of their evidence
	of        []int   // the mode of each chain of HMC
	chains    [][][]float64
	diagnosed []sampler.Chain // nil for Laplace
	k         float64         // k̂ of the importance ratios of Laplace
}

// sample draws from the posterior. s is a session over all rows, and optima are the optima of the fit.
func (p *posterior) sample(ctx context.Context, b device.Backend, s *tuning.Placement, optima []hyperopt.Optimum) (*draws, error) {
	modes, err := p.modes(ctx, s, descent.Options{Precision: b.Capabilities().Precision}, p.searched(optima))
	if err != nil {
		return nil, err
	}
	d := &draws{modes: modes}
	if p.job.Options.Posterior == problem.HMC {
		return d, p.hmc(ctx, b, s, d)
	}
	if !modes[0].curved {
		return nil, errors.New("the density is not defined around its mode, so that it has no curvature there; use option posterior hmc, or give a prior or bounds")
	}
	if p.job.Options.Posterior == problem.AutoPosterior {
		drawn, k, err := p.weigh(ctx, s, modes)
		d.chains, d.k = [][][]float64{drawn}, k
		return d, err
	}
	rng := rand.New(rand.NewPCG(p.job.Options.Settings.Seed, 0x6c61706c616365))
	var all [][]float64
	for range p.job.Options.Chains() * p.job.Options.Draws() {
		all = append(all, anyOf(d.modes, rng).around(1, rng))
	}
	d.chains = [][][]float64{all}
	d.k, err = p.ratios(ctx, s, d)
	return d, err
}

// modeStarts limits the starts of the search, so that it takes a hundredth of the evaluations of HMC.
const modeStarts = 16

// searched returns the starts of the search for modes: the end of the fit and its optima, and for
// HMC, whose chains take far more evaluations, what the data suggest.
func (p *posterior) searched(optima []hyperopt.Optimum) (out [][]float64) {
	all := [][]float64{p.rest}
	for _, o := range optima {
		if !o.Dropped {
			all = append(all, o.Z)
		}
	}
	if p.job.Options.Posterior == problem.HMC {
		near, far := starts.Alternatives(p.job.Prepared, p.rest)
		suggested, _ := starts.Of(p.job.Prepared)
		all = slices.Concat(all, near, far, suggested)
	}
	for _, z := range all[:min(len(all), modeStarts)] {
		out = append(out, p.coordinates(z))
	}
	return out
}

// ratioDraws returns the number of draws whose importance ratios are computed, one value each. With
// 200 draws the standard error of k̂ is 0.2, with 1,000 0.13; for many rows values are expensive, and
// posteriors nearer to normal.
func ratioDraws(rows int) int {
	switch {
	case rows < 500:
		return 1000
	case rows < 2000:
		return 200
	}
	return 100
}

// ratios returns k̂ of the ratios of the posterior's density and the density of the draws.
func (p *posterior) ratios(ctx context.Context, s *tuning.Placement, d *draws) (float64, error) {
	ev := p.oracle(s, "ratios")
	var logs []float64
	for _, u := range d.chains[0][:min(ratioDraws(p.job.N()), len(d.chains[0]))] {
		f, err := ev.Value(ctx, u)
		if err != nil {
			return 0, err
		}
		q := each.Of(d.modes, func(m *mode) float64 { return math.Log(m.share) - m.nats(u) - m.logVolume })
		logs = append(logs, -f-floats.LogSumExp(q))
	}
	return psis.K(logs), nil
}

// hmc runs the chains, each on a session of its own, in the modes in proportion to their shares.
func (p *posterior) hmc(ctx context.Context, b device.Backend, s *tuning.Placement, d *draws) error {
	o := p.job.Options
	so := sampler.Options{Chains: o.Chains(), Warmup: o.Warmup(), Draws: o.Draws(), Seed: o.Settings.Seed,
		OnIteration: p.job.Events.OnDraw}
	if so.Workers = 1; b.Info().Host {
		so.Workers = min(so.Chains, tuning.CrewSize(p.job.N(), b.Info().Threads))
	}
	d.of = seats(d.modes, so.Chains)
	for _, k := range d.of {
		so.Covariances = append(so.Covariances, mat.DenseCopyOf(d.modes[k].covariance).RawMatrix().Data)
	}
	starts, err := p.starts(ctx, s, d)
	if err != nil {
		return err
	}
	var sharing tuning.Crew
	var opening sync.Mutex // graphs are built one at a time
	d.diagnosed, err = sampler.Run(ctx, starts, so, func(c int) (sampler.Density, func(), error) {
		opening.Lock()
		defer opening.Unlock()
		s, err := p.job.Open(ctx, b)
		if err != nil {
			return nil, nil, err
		}
		s.Listen(nil)
		s.Crew = &sharing
		return chain{p.oracle(s, fmt.Sprintf("chain-%d", c))}, s.Close, nil
	})
	if err != nil {
		return err
	}
	for _, c := range d.diagnosed {
		d.chains = append(d.chains, c.Draws)
	}
	return nil
}

// starts returns starts of chains around their modes, twice as far out as draws, but where
// the density is defined.
func (p *posterior) starts(ctx context.Context, s *tuning.Placement, d *draws) ([][]float64, error) {
	ev := p.oracle(s, "starts")
	var out [][]float64
	for c, k := range d.of {
		u := d.modes[k].u
		for try := range 10 {
			rng := rand.New(rand.NewPCG(p.job.Options.Settings.Seed, 0x7374617274<<8|uint64(c)))
			trial := d.modes[k].around(2/float64(int(1)<<try), rng)
			f, err := ev.Value(ctx, trial)
			if err != nil {
				return nil, err
			}
			if !math.IsInf(f, 1) {
				u = trial
				break
			}
		}
		out = append(out, u)
	}
	return out, nil
}
