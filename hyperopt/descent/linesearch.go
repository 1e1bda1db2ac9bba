package descent

import (
	"context"
	"errors"
	"math"
	"slices"
)

// stepLimit passes the longest allowed step from the search direction to the line
// search, and the noise of the values between the search and its owner.
type stepLimit struct {
	max float64
	// noise is the estimated noise of the values, 0 if unknown. suspect says that noise
	// may have decided a trial.
	noise   float64
	suspect bool
}

// sample is φ(a) = f(x + a·d) and, if slope is true, its derivative g.
type sample struct {
	a, f, g float64
	slope   bool
}

// lineSearch is a line search for the strong Wolfe conditions that computes the derivative only
// where the value is low enough. It follows N&W algorithms 3.5 (bracket) and 3.6 (zoom), but
// splits each trial into a value and, if that passes the test of sufficient decrease, a gradient.
// An infinite value shortens the step. Where the expected decrease is within rounding, the
// derivative decides, by the approximate Wolfe conditions of Hager and Zhang, A new conjugate
// gradient method with guaranteed descent and an efficient line search, SIAM J. Optim. 16 (2005),
// eq. 4.1. Without these, the search would fail before it reaches a tight gradient tolerance.
//
// Measured on 122 starts of GP regressions, Rosenbrock and quadratic functions to |∂f/∂z| ≤ 1e-4, all
// of which converge. Total cost, with 1 for a value and 2 more for a gradient, and in parentheses the
// cost of the GPs: this search 15442 (10593), gonum's Backtracking 15742 (10897), MoreThuente 16527
// (11517), Bisection 16582 (11731). Backtracking comes close but does not ensure sᵀy > 0, and none of
// gonum's searches interpolates from values alone or limits the step.
type lineSearch struct {
	limit    *stepLimit
	settings Options
	line     line

	zero      sample // φ(0), φ'(0)
	lo, hi    sample // hi counts only if bracketed; lo always has its slope
	other     sample // another value on the side of hi, if other.a ≠ 0
	bracketed bool
	trial     sample
	rough     bool // trial's decrease is within rounding
	trials    int
	widths    [2]float64
}

// line is φ. Its methods are called in this order.
type line interface {
	// value returns φ(a), +Inf where it is not defined.
	value(a float64) (float64, error)
	// slope returns φ' where the latest value is, NaN where it is not defined.
	slope() (float64, error)
	// examine looks at the noise of φ if the search suspects some, after an evaluation.
	examine() error
}

// errNoStep ends a search that finds no decrease.
var errNoStep = errors.New("no step along this direction decreases the objective")

// run searches from 0, where φ and its slope are known. The first trial is at most limit.max. The latest
// evaluation is then at the end of the step.
func (s *lineSearch) run(zero sample, step float64) error {
	if !(step > 0) || !(zero.g < 0) {
		panic("hyperopt: line search without a step or a descent direction")
	}
	s.zero, s.lo = zero, zero
	s.widths = [2]float64{math.Inf(1), math.Inf(1)}
	for s.trials = 1; ; s.trials++ {
		found, err := s.try(step)
		switch {
		case err != nil || found:
			return err
		case s.ended():
			return s.settle()
		case s.bracketed:
			step = s.interpolate()
		default:
			step = s.extrapolate()
		}
	}
}

// try evaluates a trial step and reports whether it ends the search.
func (s *lineSearch) try(step float64) (found bool, err error) {
	s.trial = sample{a: step}
	if s.trial.f, err = s.line.value(step); err == nil {
		err = s.line.examine()
	}
	if err != nil {
		return false, err
	}
	if !s.promising() {
		s.doubt()
		s.shrink()
		return false, nil
	}
	if s.trial.g, err = s.line.slope(); err == nil {
		err = s.line.examine()
	}
	s.trial.slope = true
	switch g := s.trial.g; {
	case err != nil:
		return false, err
	case math.IsNaN(g):
		s.trial.f, s.trial.slope = math.Inf(1), false
		s.shrink()
	case math.Abs(g) <= -curvature*s.zero.g:
		return true, nil
	case !s.bracketed && g < 0 && s.trial.a >= s.limit.max:
		return true, nil // the longest allowed step has sufficient decrease
	default:
		s.improve()
	}
	return false, nil
}

// promising reports whether the gradient at trial is worth its cost.
func (s *lineSearch) promising() bool {
	t := s.trial
	s.rough = false
	if t.f <= s.zero.f+armijo*t.a*s.zero.g && (t.f < s.lo.f || s.lo.a == 0) {
		return true
	}
	eps := s.noise()
	s.rough = math.Abs(t.f-s.zero.f) <= eps && t.a*-s.zero.g <= 8*eps
	return s.rough
}

// noise returns the difference of two values that says nothing about their order.
func (s *lineSearch) noise() float64 {
	return math.Max(s.settings.noise(s.zero.f), s.limit.noise)
}

// doubt notes whether noise may have made trial too high: both its difference and the
// decrease that the slope promised are small.
func (s *lineSearch) doubt() {
	small := suspicious * math.Max(1, math.Abs(s.zero.f))
	if math.Abs(s.trial.f-s.zero.f) <= small && s.trial.a*-s.zero.g <= small {
		s.limit.suspect = true
	}
}

// shrink makes trial, which is too high, the new end of the bracket.
func (s *lineSearch) shrink() {
	s.other = sample{}
	if s.bracketed && s.lo.a == 0 {
		s.other = s.hi
	}
	s.hi, s.bracketed = s.trial, true
}

// improve makes trial, the lowest value so far, the new start of the bracket.
func (s *lineSearch) improve() {
	t := s.trial
	s.other = sample{}
	if s.rough {
		// The values differ only by rounding; use the sign of the derivative.
		if t.g > 0 {
			s.hi, s.bracketed = t, true
		} else {
			s.lo, s.other = t, s.lo
		}
		return
	}
	switch {
	case !s.bracketed && t.g >= 0:
		s.hi, s.bracketed = s.lo, true
	case !s.bracketed:
		s.other = s.lo
	case t.g*(s.hi.a-s.lo.a) >= 0:
		s.hi = s.lo
	}
	s.lo = t
}

// ended reports whether further trials are not worth it.
func (s *lineSearch) ended() bool {
	switch w := math.Abs(s.hi.a - s.lo.a); {
	case s.trials >= maxTrials:
		return true
	case !s.bracketed:
		return s.lo.a >= s.limit.max
	case math.IsInf(s.hi.f, 1) && s.lo.a >= 0.5*s.hi.a:
		return true // near the boundary of the domain of f, little can be gained
	default:
		return w <= 1e-12*math.Max(s.hi.a, s.lo.a) || w*-s.zero.g <= 1e-3*s.noise()
	}
}

// settle returns to the best point with sufficient decrease, if there is one.
func (s *lineSearch) settle() error {
	if s.lo.a == 0 || s.lo.f > s.zero.f+armijo*s.lo.a*s.zero.g {
		return errNoStep
	}
	if s.lo.a == s.trial.a {
		return nil
	}
	_, err := s.line.value(s.lo.a)
	if err == nil {
		_, err = s.line.slope()
	}
	if err == nil {
		err = s.line.examine()
	}
	return err
}

// extrapolate returns a step beyond lo.
func (s *lineSearch) extrapolate() float64 {
	t, from := s.lo, s.other
	a := cubicMin(from, t)
	if !(a > t.a) {
		a = math.Inf(1)
	}
	d := t.a - from.a
	a = math.Max(t.a+0.5*d, math.Min(a, t.a+maxGrowth*d))
	return math.Min(a, s.limit.max)
}

// interpolate returns a step between lo and hi, at least a tenth of the
// interval away from its ends.
func (s *lineSearch) interpolate() float64 {
	w := s.hi.a - s.lo.a
	if math.IsInf(s.hi.f, 1) {
		return s.lo.a + infeasibleContraction*w
	}
	// If two trials do not halve the interval, bisect it.
	slow := math.Abs(w) > 0.5*s.widths[1]
	s.widths = [2]float64{math.Abs(w), s.widths[0]}
	if slow {
		return s.lo.a + 0.5*w
	}
	var a float64
	switch {
	case s.rough && s.hi.slope:
		a = s.lo.a - s.lo.g*w/(s.hi.g-s.lo.g) // secant on the derivative
	case s.hi.slope:
		a = cubicMin(s.lo, s.hi)
	case s.other.a != 0 && !math.IsInf(s.other.f, 1):
		a = cubicMin3(s.lo, s.hi, s.other)
	default:
		a = quadraticMin(s.lo, s.hi)
	}
	t := (a - s.lo.a) / w
	if math.IsNaN(t) {
		t = 0.5
	}
	return s.lo.a + math.Max(0.1, math.Min(t, 0.9))*w
}

// quadraticMin returns the minimizer of the parabola through p, with its slope,
// and the value of q (N&W 3.57); NaN if it has none.
func quadraticMin(p, q sample) float64 {
	w := q.a - p.a
	c := (q.f - p.f - p.g*w) / (w * w)
	if !(c > 0) {
		return math.NaN()
	}
	return p.a - p.g/(2*c)
}

// cubicMin returns the minimizer of the cubic through p and q with their slopes
// (N&W 3.59); NaN if it has none.
func cubicMin(p, q sample) float64 {
	d1 := p.g + q.g - 3*(p.f-q.f)/(p.a-q.a)
	r := d1*d1 - p.g*q.g
	if !(r >= 0) {
		return math.NaN()
	}
	d2 := math.Copysign(math.Sqrt(r), q.a-p.a)
	return q.a - (q.a-p.a)*(q.g+d2-d1)/(q.g-p.g+2*d2)
}

// cubicMin3 returns the minimizer of the cubic through p, with its slope, and
// the values of q and r (N&W p. 58); NaN if it has none.
func cubicMin3(p, q, r sample) float64 {
	x, y := q.a-p.a, r.a-p.a
	u := (q.f - p.f - p.g*x) / (x * x) // = b + a·x
	v := (r.f - p.f - p.g*y) / (y * y) // = b + a·y
	a := (u - v) / (x - y)
	b := u - a*x
	if a == 0 {
		return quadraticMin(p, q)
	}
	d := b*b - 3*a*p.g
	if !(d >= 0) {
		return math.NaN()
	}
	// Use the form of (−b+√d)/(3a) without cancellation.
	if b > 0 {
		return p.a - p.g/(b+math.Sqrt(d))
	}
	return p.a + (-b+math.Sqrt(d))/(3*a)
}

// The values of an ill-conditioned likelihood scatter by far more than the rounding of a
// well-conditioned one. A search that takes this scatter for a shape never ends.

// Constants of the estimate: the number of values after the first and their spacing, in
// log units. A likelihood of 1,200 rows scatters by 4e-6 over 1e-11.
const (
	noiseValues  = 6
	noiseSpacing = 1e-10
)

// suspicious is the difference of two values, times max(1, |f|), below which scatter may
// have decided their order, so that it is worth an estimate.
const suspicious = 1e-6

// scatter estimates the standard deviation of the noise of f at the current point from values
// along a short line, by ECnoise (Moré and Wild, Estimating computational noise, SIAM J. Sci.
// Comput. 33, 2011, section 5): differences of order k have (2k)!/(k!)² times the variance of the
// noise where the differences of f itself vanish. It is 0 if the values do not show noise.
func (d *descent) scatter(ctx context.Context) (float64, error) {
	index := d.moving()
	values := []float64{d.at.F}
	for k := range noiseValues {
		z := slices.Clone(d.at.Z)
		for a, i := range index {
			// Half of the parameters up and half down, so that f itself hardly changes.
			z[i] = d.space.clip(i, z[i]+float64(k+1)*noiseSpacing*float64(1-2*(a%2)))
		}
		f, err := d.ev.Value(ctx, z)
		if err != nil {
			return 0, err
		}
		if math.IsInf(f, 1) {
			return 0, nil
		}
		values = append(values, f)
	}
	return ecNoise(values), nil
}

// ecNoise estimates the noise of evenly spaced values of a smooth function. It takes the
// lowest order whose level agrees with the two after it within a factor of four and whose
// differences have both signs, and returns 0 if there is none.
func ecNoise(values []float64) float64 {
	diff := slices.Clone(values)
	var levels []float64
	var signs []bool
	gamma := 1.0
	for k := 1; k < len(values); k++ {
		gamma *= float64(k) / float64(2*(2*k-1)) // (k!)²/(2k)!
		sum, up, down := 0.0, false, false
		for i := range len(diff) - 1 {
			diff[i] = diff[i+1] - diff[i]
			sum += diff[i] * diff[i]
			up, down = up || diff[i] > 0, down || diff[i] < 0
		}
		diff = diff[:len(diff)-1]
		levels = append(levels, math.Sqrt(gamma*sum/float64(len(diff))))
		signs = append(signs, up && down)
	}
	for k := range len(levels) - 2 {
		three := levels[k : k+3]
		if signs[k] && slices.Max(three) <= 4*slices.Min(three) {
			return levels[k]
		}
	}
	return 0
}
