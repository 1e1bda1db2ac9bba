package sampler

import (
	"context"
	"errors"
	"fmt"
)

// Density is the logarithm of a density, up to a constant. It is used by one goroutine.
type Density interface {
	// LogDensity returns the logarithm at q and writes its gradient to grad. It is −Inf
	// where the density is zero or cannot be computed; the gradient then means nothing.
	// An error ends the run.
	LogDensity(ctx context.Context, q, grad []float64) (float64, error)
}

// Options configures [Run]. The zero value is ready to use.
type Options struct {
	// Chains, Warmup and Draws are the number of chains and of iterations of each; 0 means
	// 4, 500 and 1000. The draws of the warm-up are not kept.
	Chains, Warmup, Draws int
	// TargetAccept is the mean probability of acceptance to which the step size adapts;
	// 0 means 0.8.
	TargetAccept float64
	// MaxDepth bounds the doublings of a trajectory; 0 means 10.
	MaxDepth int
	// Seed determines all draws.
	Seed uint64
	// Covariance is a first estimate of the covariance, p×p; nil means the identity.
	Covariance []float64
	// Workers is the number of chains that run at the same time; 0 means 1. The draws do
	// not depend on it.
	Workers int
	// OnIteration, unless nil, is called after each iteration of a chain, the first of
	// them 1, warm-up included. Calls do not overlap.
	OnIteration func(chain, iteration int)
}

func (o Options) withDefaults() Options {
	set := func(v *int, d int) {
		if *v == 0 {
			*v = d
		}
	}
	set(&o.Chains, 4)
	set(&o.Warmup, 500)
	set(&o.Draws, 1000)
	set(&o.MaxDepth, 10)
	set(&o.Workers, 1)
	if o.TargetAccept == 0 {
		o.TargetAccept = 0.8
	}
	return o
}

// check returns an error for options that no run can have.
func (o Options) check(p int) error {
	switch {
	case p < 1:
		return errors.New("sampler: there is nothing to draw")
	case o.Chains < 1 || o.Warmup < 0 || o.Draws < 1 || o.MaxDepth < 1 || o.Workers < 1:
		return fmt.Errorf("sampler: %d chains of %d and %d iterations, depth %d, %d workers", o.Chains, o.Warmup, o.Draws, o.MaxDepth, o.Workers)
	case !(o.TargetAccept > 0 && o.TargetAccept < 1):
		return fmt.Errorf("sampler: a target acceptance of %v", o.TargetAccept)
	case o.Covariance != nil && len(o.Covariance) != p*p:
		return fmt.Errorf("sampler: a covariance of %d numbers for %d", len(o.Covariance), p)
	}
	return nil
}

// Chain holds the draws of a chain in order.
type Chain struct {
	// Draws are points, LogDensity their log densities.
	Draws      [][]float64
	LogDensity []float64
	// Accept is the mean probability of acceptance along the trajectory of each draw,
	// Depth the number of its doublings, and Divergent says that the trajectory diverged:
	// the density is more curved there than the step size resolves.
	Accept    []float64
	Depth     []int
	Divergent []bool
	// StepSize is the one of the draws, Gradients counts evaluations with the warm-up.
	StepSize  float64
	Gradients int
}
