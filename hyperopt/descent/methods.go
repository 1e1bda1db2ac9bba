package descent

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/optimize"
)

// Methods returns all methods, the default first. LBFGS needs the fewest
// evaluations if the gradient is correct; the other methods are for comparison.
func Methods() []Method { return []Method{LBFGS{}, Adam{}, NelderMead{}} }

// MethodNames returns the names of all methods, the default first.
func MethodNames() []string {
	var names []string
	for _, m := range Methods() {
		names = append(names, m.Name())
	}
	return names
}

// MethodNamed returns the method with the given name, or nil.
func MethodNamed(name string) Method {
	for _, m := range Methods() {
		if m.Name() == name {
			return m
		}
	}
	return nil
}

// TakesMetric reports whether a method, nil for the default, uses a metric and returns one.
func TakesMetric(m Method) bool {
	_, ok := m.(LBFGS)
	return ok || m == nil
}

// Adam (Kingma and Ba, ICLR 2015, algorithm 1) takes steps of 0.1 log units with β₁
// = 0.9 and β₂ = 0.999. It halves the steps whenever 20 iterations bring no new
// best value. Steps end at the bounds.
type Adam struct{}

// Adam's constants.
const (
	adamStep, adamLeastStep = 0.1, 1e-7
	adamBeta1, adamBeta2    = 0.9, 0.999
	adamEpsilon             = 1e-8
	adamPatience            = 20
)

// Name implements [Method].
func (Adam) Name() string { return "adam" }

// Descend implements [Method].
func (Adam) Descend(ctx context.Context, d *Descent) (Status, error) {
	index, p := d.space.free(), len(d.at.Z)
	z, g, m, s := slices.Clone(d.at.Z), slices.Clone(d.at.G), make([]float64, p), make([]float64, p)
	step, waited, best, power1, power2 := adamStep, 0, d.at, 1.0, 1.0
	for step > adamLeastStep {
		if status := d.Converged(); status != StatusNone {
			return status, nil
		}
		power1, power2 = power1*adamBeta1, power2*adamBeta2
		for _, i := range index {
			m[i] = adamBeta1*m[i] + (1-adamBeta1)*g[i]
			s[i] = adamBeta2*s[i] + (1-adamBeta2)*g[i]*g[i]
			target := z[i] - step*(m[i]/(1-power1))/(math.Sqrt(s[i]/(1-power2))+adamEpsilon)
			if z[i] = d.space.clip(i, target); z[i] != target {
				m[i] = 0 // momentum would press against the bound long after f turns
			}
		}
		f, err := d.Value(ctx, z)
		ok := err == nil && !math.IsInf(f, 1)
		if ok {
			ok, err = d.Gradient(ctx, z, g)
		}
		if err != nil {
			return StatusFailed, err
		}
		if ok {
			d.Accept(Point{Z: slices.Clone(z), F: f, G: slices.Clone(g)})
		}
		if waited++; ok && f < best.F {
			best, waited = d.at, 0
		}
		if !ok || waited > adamPatience {
			// Return to the best point with shorter steps and without momentum.
			step, waited, power1, power2 = step/2, 0, 1, 1
			clear(m)
			clear(s)
			d.at = best
			copy(z, best.Z)
			copy(g, best.G)
			d.restless()
		}
	}
	return StatusStalled, nil
}

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
			// The best value can stay the same for many iterations while the simplex shrinks.
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
