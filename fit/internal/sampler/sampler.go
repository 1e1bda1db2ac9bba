// Package sampler draws from a density by the No-U-Turn sampler. It says how far the draws can be
// trusted. It knows nothing of Gaussian processes: a log density with its gradient goes in, chains
// come out. Start at [Run]; [Summarize] describes the chains.
//
// The sampler is NUTS (Hoffman & Gelman 2014) with multinomial sampling within a
// trajectory and the generalized criterion for its end (Betancourt 2017), dual averaging
// of the step size, and a dense metric that is adapted in windows of growing length.
package sampler

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"

	"gpfit/hyperopt/descent"
)

// Run draws chains from the density that open returns for each, from starts near
// modes: Starts at different points show whether chains agree. The caller of open closes
// what it opened with the function that it returns. The result depends on the density, the
// starts, the seed and the options alone.
func Run(ctx context.Context, starts [][]float64, o Options, open func(chain int) (Density, func(), error)) ([]Chain, error) {
	o.Chains, o.Warmup, o.Draws, o.Workers = cmp.Or(o.Chains, 4), cmp.Or(o.Warmup, 500), cmp.Or(o.Draws, 1000), cmp.Or(o.Workers, 1)
	if len(starts) != o.Chains {
		return nil, fmt.Errorf("sampler: %d starts for %d chains", len(starts), o.Chains)
	}
	if err := o.check(len(starts[0])); err != nil {
		return nil, err
	}
	chains := make([]Chain, o.Chains)
	var told sync.Mutex
	err := descent.SideBySide(ctx, o.Chains, make([]struct{}, o.Workers), func(ctx context.Context, _ struct{}, c int) error {
		if err := one(ctx, c, starts[c], o, open, &chains[c], &told); err != nil {
			return fmt.Errorf("chain %d: %w", c, err)
		}
		return nil
	})
	return chains, err
}

// check returns an error for options that no run can have.
func (o Options) check(p int) error {
	switch {
	case p < 1:
		return errors.New("sampler: there is nothing to draw")
	case o.Chains < 1 || o.Warmup < 0 || o.Draws < 1 || o.Workers < 1:
		return fmt.Errorf("sampler: %d chains of %d and %d iterations, %d workers", o.Chains, o.Warmup, o.Draws, o.Workers)
	case o.Covariances != nil && (len(o.Covariances) != o.Chains || slices.ContainsFunc(o.Covariances, func(c []float64) bool { return len(c) != p*p })):
		return fmt.Errorf("sampler: not a covariance of %d numbers for each of %d chains", p*p, o.Chains)
	}
	return nil
}

// one runs a chain.
func one(ctx context.Context, c int, start []float64, o Options, open func(int) (Density, func(), error), out *Chain, told *sync.Mutex) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	density, done, err := open(c)
	if err != nil {
		return err
	}
	defer done()
	var metric []float64
	if o.Covariances != nil {
		metric = o.Covariances[c]
	}
	w, err := newWalker(ctx, density, start, metric, rand.New(rand.NewPCG(o.Seed, uint64(c))))
	if err != nil {
		return err
	}
	adapt := newAdaptation(w, o)
	for i := range o.Warmup + o.Draws {
		t, err := w.transition(ctx)
		if err != nil {
			return err
		}
		if i < o.Warmup {
			err = adapt.learn(ctx, i, t.accept)
		} else {
			out.Draws = append(out.Draws, slices.Clone(w.q))
			out.LogDensity = append(out.LogDensity, w.logp)
			out.Accept, out.Depth, out.Divergent = append(out.Accept, t.accept), append(out.Depth, t.depth), append(out.Divergent, t.divergent)
		}
		if err != nil {
			return err
		}
		if o.OnIteration != nil {
			told.Lock()
			o.OnIteration(c, i+1)
			told.Unlock()
		}
	}
	out.StepSize, out.Gradients = w.step, w.gradients
	return nil
}
