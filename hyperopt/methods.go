package hyperopt

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/optimize"
)

// Method is the algorithm of a descent.
type Method string

// The methods; empty means LBFGS. The others are there for comparison: LBFGS
// needs the fewest evaluations wherever the gradient is right.
const (
	// LBFGS is L-BFGS, or damped BFGS from a [Problem.Metric] on.
	LBFGS Method = "lbfgs"
	// Adam (Kingma and Ba, ICLR 2015, algorithm 1) takes steps of 0.1 log units,
	// β₁ = 0.9 and β₂ = 0.999, and halves them whenever 20 iterations have not
	// gone below the best value so far.
	Adam Method = "adam"
	// NelderMead is gonum's simplex method. It asks for values only; one
	// gradient at the end says how good the point is.
	NelderMead Method = "nelder-mead"
)

// Methods lists them, the default first.
func Methods() []string { return []string{string(LBFGS), string(Adam), string(NelderMead)} }

// unconstrained is what methods without an active set see of a start: the parameters
// that are not fixed, as unconstrained variables behind their clamps.
type unconstrained struct {
	l     *local
	index []int
	z, g  []float64
}

func (l *local) unconstrained() (*unconstrained, []float64) {
	v := &unconstrained{l: l, index: l.p.free(), z: slices.Clone(l.at.z), g: make([]float64, len(l.at.z))}
	u := make([]float64, len(v.index))
	for k, i := range v.index {
		u[k] = l.p.clamps[i].invert(v.z[i])
	}
	return v, u
}

// value returns f at u, +Inf where it is not defined.
func (v *unconstrained) value(u []float64) (float64, error) {
	for k, i := range v.index {
		v.z[i] = v.l.p.clamps[i].apply(u[k])
	}
	return v.l.ev.value(v.z)
}

// gradient writes ∂f/∂u at the u of the latest value to g.
func (v *unconstrained) gradient(u, g []float64) (ok bool, err error) {
	if ok, err = v.l.ev.gradient(v.z, v.g); !ok || err != nil {
		return ok, err
	}
	for k, i := range v.index {
		g[k] = v.g[i] * v.l.p.clamps[i].slope(u[k])
	}
	return true, nil
}

// Adam's constants.
const (
	adamStep, adamLeastStep = 0.1, 1e-7
	adamBeta1, adamBeta2    = 0.9, 0.999
	adamEpsilon             = 1e-8
	adamPatience            = 20
)

// adam descends from l.at.
func (l *local) adam() (Status, error) {
	v, u := l.unconstrained()
	k := len(u)
	g, m, s := make([]float64, k), make([]float64, k), make([]float64, k)
	if _, err := v.value(u); err != nil {
		return l.ended(err)
	}
	if _, err := v.gradient(u, g); err != nil {
		return l.ended(err)
	}
	step, waited, best, power1, power2 := adamStep, 0, slices.Clone(u), 1.0, 1.0
	low := l.at.f
	for step > adamLeastStep {
		if status := l.converged(); status != StatusNone {
			return status, nil
		}
		power1, power2 = power1*adamBeta1, power2*adamBeta2
		for i := range u {
			m[i] = adamBeta1*m[i] + (1-adamBeta1)*g[i]
			s[i] = adamBeta2*s[i] + (1-adamBeta2)*g[i]*g[i]
			u[i] -= step * (m[i] / (1 - power1)) / (math.Sqrt(s[i]/(1-power2)) + adamEpsilon)
		}
		f, err := v.value(u)
		ok := err == nil && !math.IsInf(f, 1)
		if ok {
			ok, err = v.gradient(u, g)
		}
		switch {
		case err != nil:
			return l.ended(err)
		case ok:
			l.step(point{z: slices.Clone(v.z), f: f, g: slices.Clone(v.g)})
			l.notify(l)
		}
		if waited++; ok && f < low {
			low, waited = f, 0
			copy(best, u)
		}
		if !ok || waited > adamPatience {
			// Back to the best point, with shorter steps and nothing remembered.
			step, waited, power1, power2 = step/2, 0, 1, 1
			clear(m)
			clear(s)
			copy(u, best)
			if err := l.back(v, u, g); err != nil {
				return l.ended(err)
			}
		}
	}
	return StatusStalled, nil
}

// back makes the best point, at u, the current iterate again.
func (l *local) back(v *unconstrained, u, g []float64) error {
	if _, err := v.value(u); err != nil {
		return err
	}
	if _, err := v.gradient(u, g); err != nil {
		return err
	}
	l.at = point{z: slices.Clone(v.z), f: l.ev.valued.f, g: slices.Clone(v.g)}
	if slices.Equal(v.z, l.ev.last.z) {
		l.at.f = l.ev.last.f
	}
	l.flat, l.flatFrom = 0, l.ev.counts.Infeasible
	return nil
}

const (
	// simplexSize is the edge of the first simplex, in log units.
	simplexSize = 0.5
	// maxSimplexes bounds the fresh simplexes, each at the best point of the one
	// before: one that has collapsed away from a minimum makes a new beginning.
	maxSimplexes = 20
)

// nelderMead descends from l.at. A point outside the bounds counts as the
// nearest one inside and the squared distance to it.
func (l *local) nelderMead() (Status, error) {
	index, z := l.p.free(), slices.Clone(l.at.z)
	var failure error
	problem := optimize.Problem{
		Func: func(u []float64) float64 {
			if failure != nil {
				return math.Inf(1)
			}
			beyond := 0.0
			for k, i := range index {
				c := l.p.clamps[i]
				z[i] = math.Min(math.Max(u[k], c.lo), c.hi)
				beyond += (u[k] - z[i]) * (u[k] - z[i])
			}
			f, err := l.ev.value(z)
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
	tolerance := math.Max(l.s.RelativeTolerance, 1e-12)
	for round, before := 0, math.Inf(1); round < maxSimplexes && failure == nil; round++ {
		u := make([]float64, len(index))
		for k, i := range index {
			u[k] = l.ev.best.z[i]
		}
		settings := optimize.Settings{
			// The best value stays for many iterations while the simplex shrinks.
			Converger: &optimize.FunctionConverge{Relative: tolerance, Absolute: noise(1), Iterations: 10 * (len(u) + 1)},
			Recorder:  &simplexRecorder{l},
		}
		_, err := optimize.Minimize(problem, u, &settings, &optimize.NelderMead{SimplexSize: simplexSize})
		if failure == nil && err != nil {
			return StatusFailed, fmt.Errorf("hyperopt: Nelder–Mead: %w", err)
		}
		if !math.IsInf(before, 1) && before-l.ev.best.f <= tolerance*math.Max(1, math.Abs(before)) {
			break
		}
		before = l.ev.best.f
	}
	if failure != nil && !errors.Is(failure, errMaxEvaluations) {
		return l.ended(failure)
	}
	limit := failure
	g := make([]float64, len(l.at.z))
	l.ev.max += 2 // the value at the best point, if another came after it, is not a trial
	if _, err := l.ev.gradient(slices.Clone(l.ev.best.z), g); err != nil {
		return l.ended(err)
	}
	l.at = point{z: l.ev.best.z, f: l.ev.best.f, g: g}
	switch {
	case limit != nil:
		return StatusMaxEvaluations, nil
	case l.norm(l.at.z, l.at.g) <= l.s.GradientTolerance:
		return StatusGradientConverged, nil
	}
	return StatusFunctionConverged, nil
}

// simplexRecorder reports each iteration of the simplex, of which only the best
// value is known.
type simplexRecorder struct{ l *local }

func (r *simplexRecorder) Init() error { return nil }

func (r *simplexRecorder) Record(_ *optimize.Location, op optimize.Operation, _ *optimize.Stats) error {
	if op != optimize.MajorIteration {
		return nil
	}
	l := r.l
	if best := l.ev.best; best.f < l.at.f {
		l.change = math.Abs(l.at.f-best.f) / math.Max(1, math.Abs(best.f))
		l.at = point{z: best.z, f: best.f}
	}
	l.iter++
	l.notify(l)
	return nil
}
