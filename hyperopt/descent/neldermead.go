package descent

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/optimize"
)

// NelderMead is gonum's simplex method. It uses only values, and one gradient at
// the end to assess the point. The value at a point outside the bounds is the value
// at the nearest point inside plus the squared distance to it.
type NelderMead struct{}

// Name implements [Method].
func (NelderMead) Name() string { return "nelder-mead" }

const (
	// simplexSize is the edge of the first simplex, in log units.
	simplexSize = 0.5
	// maxSimplexes bounds the number of simplexes. A new one begins at the best
	// point of the last, because a simplex can collapse away from a minimum.
	maxSimplexes = 20
)

// Descend implements [Method].
func (NelderMead) Descend(ctx context.Context, d *Descent) (Status, error) {
	index, z := d.space.free(), slices.Clone(d.at.Z)
	var failure error
	problem := optimize.Problem{
		Func: func(u []float64) float64 {
			if failure != nil {
				return math.Inf(1)
			}
			beyond := 0.0
			for k, i := range index {
				z[i] = d.space.clip(i, u[k])
				beyond += (u[k] - z[i]) * (u[k] - z[i])
			}
			f, err := d.ev.Value(ctx, z)
			if failure = err; err != nil {
				return math.Inf(1)
			}
			return f + beyond
		},
		Status: func() (optimize.Status, error) {
			if failure != nil {
				return optimize.Failure, failure
			}
			return optimize.NotTerminated, nil
		},
	}
	tolerance := math.Max(d.s.RelativeTolerance, 1e-12)
	for round, before := 0, math.Inf(1); round < maxSimplexes && failure == nil; round++ {
		u := make([]float64, len(index))
		for k, i := range index {
			u[k] = d.ev.best.Z[i]
		}
		settings := optimize.Settings{
			// The best value can stay the same for many iterations while the
			// simplex shrinks.
			Converger: &optimize.FunctionConverge{Relative: tolerance, Absolute: d.s.noise(1), Iterations: 10 * (len(u) + 1)},
			Recorder:  &simplexRecorder{d},
		}
		_, err := optimize.Minimize(problem, u, &settings, &optimize.NelderMead{SimplexSize: simplexSize})
		if failure == nil && err != nil {
			return StatusFailed, fmt.Errorf("hyperopt: Nelder–Mead: %w", err)
		}
		if !math.IsInf(before, 1) && before-d.ev.best.F <= tolerance*math.Max(1, math.Abs(before)) {
			break
		}
		before = d.ev.best.F
	}
	if failure != nil && !errors.Is(failure, errMaxEvaluations) {
		return StatusFailed, failure
	}
	g := make([]float64, len(d.at.Z))
	d.ev.max += 2 // re-evaluating the best point at the end is not a trial
	if _, err := d.ev.Gradient(ctx, slices.Clone(d.ev.best.Z), g); err != nil {
		return StatusFailed, err
	}
	d.at = Point{Z: d.ev.best.Z, F: d.ev.best.F, G: g}
	switch {
	case failure != nil:
		return StatusMaxEvaluations, nil
	case d.space.norm(d.at.Z, d.at.G) <= d.s.GradientTolerance:
		return StatusGradientConverged, nil
	}
	return StatusFunctionConverged, nil
}

// simplexRecorder reports each iteration of the simplex with its best value.
type simplexRecorder struct{ d *Descent }

func (r *simplexRecorder) Init() error { return nil }

func (r *simplexRecorder) Record(_ *optimize.Location, op optimize.Operation, _ *optimize.Stats) error {
	if op != optimize.MajorIteration {
		return nil
	}
	d := r.d
	if best := d.ev.best; best.F < d.at.F {
		d.change = math.Abs(d.at.F-best.F) / math.Max(1, math.Abs(best.F))
		d.at = Point{Z: best.Z, F: best.F}
	}
	d.iter++
	d.notify(d)
	return nil
}
