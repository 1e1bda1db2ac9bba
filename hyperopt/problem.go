package hyperopt

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
)

// Objective is a differentiable function of p log-parameters.
//
// Both methods read z only during the call. An error for which
// [gpfit/device.IsNotPD] holds says that f is not defined at z; a trial step
// then counts as infeasible, exactly as for a value that is not finite. Any
// other error ends the run. A panic is turned into a [*PanicError] and ends the
// run too.
type Objective interface {
	// Value returns f(z). Cost n³/3.
	Value(ctx context.Context, z []float64) (float64, error)
	// ValueGradient returns f(z) and writes ∂f/∂z to grad (length p), fixed
	// parameters included. [Minimize] only calls it directly after Value at the
	// same z, whose factor it can then reuse: it costs the other 2n³/3.
	ValueGradient(ctx context.Context, z, grad []float64) (float64, error)
}

// Problem says what is minimised, over what, and from where.
type Problem struct {
	// Objective is the function. Required.
	Objective Objective
	// Workers are further objectives, the same function on other devices:
	// starts run side by side on all of them.
	Workers []Objective
	// Wrap, unless nil, is called once for every start with the objective that
	// the start is about to run on, and returns what it runs on instead: to
	// record or to replay its evaluations. Starts call it side by side.
	Wrap func(start int, obj Objective) Objective
	// Names of the p parameters, for messages and for grouping restarts (see
	// Settings.RestartStd): nil, or p of them.
	Names []string
	// Start holds the p log-parameters at which start 0 begins. Required. A
	// free parameter that is outside its bounds, or so close to one that it
	// could not move, is moved inside with a warning.
	Start []float64
	// Metric, unless nil, is an approximation of the Hessian ∂²f/∂z² at Start, p×p
	// in row-major order, such as [Hessian] computes on part of the data; rows
	// and columns of fixed parameters do not matter. The first direction is then
	// that of Newton with it (eigenvalues below 2 raised to 2), and it is updated
	// as the descent goes, by damped BFGS. Should it mislead, L-BFGS takes over.
	// A parameter that is on its bound then begins there, as it was left.
	Metric []float64
	// Further, unless nil, are the starts beyond start 0, in place of
	// Settings.Restarts random ones.
	Further []Start
	// Lower and Upper are bounds of the log-parameters: nil, or p of them,
	// where ∓Inf means none.
	Lower, Upper []float64
	// Fixed parameters stay at Start, bit by bit: nil (none), or p of them.
	Fixed []bool
	// Plain parameters are no logarithms, which matters for messages only: nil
	// (none), or p of them.
	Plain []bool
}

// Start is a place to begin at, and a metric there or nil, as in [Problem].
type Start struct {
	Z, Metric []float64
}

// Defaults of [Settings].
const (
	DefaultMaxEvaluations    = 1000
	DefaultGradientTolerance = 1e-4
	DefaultRelativeTolerance = 1e-10
	DefaultRestartStd        = 1.5
	DefaultMemory            = 30
)

// relativeIterations is how many iterations in a row must change f by less than
// Settings.RelativeTolerance: a single short step says nothing about
// convergence.
const relativeIterations = 5

// Settings tells how to minimise. The zero value is ready to use.
type Settings struct {
	// Method is the algorithm; empty means LBFGS.
	Method Method
	// MaxEvaluations limits the value evaluations of each start; 0 means
	// DefaultMaxEvaluations. Gradients are not counted here: there is at most
	// one for each value.
	MaxEvaluations int
	// GradientTolerance: a start has converged when no component of ∂f/∂z
	// exceeds it, over the free parameters that can still move, that is, not
	// over those at a bound that f pushes outwards. 0 means
	// DefaultGradientTolerance, negative means never.
	GradientTolerance float64
	// RelativeTolerance: a start has converged when |f_k − f_{k+1}| ≤
	// RelativeTolerance·max(1, |f_{k+1}|) in five consecutive iterations. 0
	// means DefaultRelativeTolerance, negative means never.
	RelativeTolerance float64
	// Restarts is the number of starts beyond start 0, unless Problem.Further
	// gives them. All run to their end, unless they race.
	Restarts int
	// Race lets the starts of LBFGS run side by side, an iteration of each at a
	// time, and ends those that lead nowhere: a start whose quadratic model puts
	// it into the basin of a better one (StatusMerged), and one so far above the
	// best that thirty times the decrease that its model promises would not do
	// (StatusDropped). That saves half of the evaluations or more; a start that
	// creeps along a saddle may be dropped that would have found the best.
	Race bool
	// Reach is how far above the best, in units of f, an end still counts in a
	// race: starts that may come so low are not dropped.
	Reach float64
	// RestartStd is the standard deviation, in log units, of the further
	// starts around Problem.Start; 0 means DefaultRestartStd, which covers a
	// factor of 20 up and down at two standard deviations. Parameters whose
	// names differ only in their index, as lengthscale[0] and lengthscale[1],
	// share a common shift that makes up half of the variance, since drawing
	// many lengthscales independently would never try all of them long or all
	// of them short.
	RestartStd float64
	// Seed of the further starts. The draw of start k depends on Seed and k
	// only, so that more restarts do not change earlier ones.
	Seed uint64
	// Memory is the number of correction pairs of L-BFGS; 0 means
	// DefaultMemory. That is more than the 3 to 20 of N&W 7.2, since the
	// arithmetic they cost is nothing next to an evaluation: on ill-conditioned
	// GPs (c₂ = 0.9) 5, 10, 15, 20, 30, 60 pairs needed costs of 16449, 11404,
	// 10666, 9971, 9552, 9487.
	Memory int
	// Callback, unless nil, is called at each start's first point and after
	// each accepted iteration, one call at a time; with Problem.Workers from
	// different goroutines.
	Callback func(Iteration)

	// searcher replaces the line search, for comparisons in tests.
	searcher func(*stepLimit) linesearcher
}

func (s Settings) withDefaults() (Settings, error) {
	switch {
	case s.Method != "" && !slices.Contains(Methods(), string(s.Method)):
		return s, fmt.Errorf("hyperopt: Method is %q: must be one of %s", s.Method, strings.Join(Methods(), ", "))
	case s.MaxEvaluations < 0:
		return s, fmt.Errorf("hyperopt: MaxEvaluations is negative: %d", s.MaxEvaluations)
	case s.Restarts < 0:
		return s, fmt.Errorf("hyperopt: Restarts is negative: %d", s.Restarts)
	case s.Memory < 0:
		return s, fmt.Errorf("hyperopt: Memory is negative: %d", s.Memory)
	case math.IsNaN(s.GradientTolerance):
		return s, fmt.Errorf("hyperopt: GradientTolerance is NaN")
	case math.IsNaN(s.RelativeTolerance):
		return s, fmt.Errorf("hyperopt: RelativeTolerance is NaN")
	case !(s.Reach >= 0):
		return s, fmt.Errorf("hyperopt: Reach is not a non-negative number: %g", s.Reach)
	case !(s.RestartStd >= 0) || math.IsInf(s.RestartStd, 0):
		return s, fmt.Errorf("hyperopt: RestartStd is not a non-negative number: %g", s.RestartStd)
	}
	if s.MaxEvaluations == 0 {
		s.MaxEvaluations = DefaultMaxEvaluations
	}
	if s.GradientTolerance == 0 {
		s.GradientTolerance = DefaultGradientTolerance
	}
	if s.RelativeTolerance == 0 {
		s.RelativeTolerance = DefaultRelativeTolerance
	}
	if s.RestartStd == 0 {
		s.RestartStd = DefaultRestartStd
	}
	if s.Memory == 0 {
		s.Memory = DefaultMemory
	}
	if s.searcher == nil {
		s.searcher = func(l *stepLimit) linesearcher { return &valueFirst{limit: l} }
	}
	return s, nil
}

// checked is a Problem whose fields were found consistent, with every slice at
// its full length p and every parameter either fixed or strictly inside its
// bounds.
type checked struct {
	obj      Objective
	wrap     func(start int, obj Objective) Objective
	names    []string
	start    []float64
	metric   []float64
	further  []Start
	clamps   []clamp
	fixed    []bool
	plain    []bool
	warnings []string
}

// natural is the value of parameter i for messages.
func (c *checked) natural(i int, z float64) float64 {
	if c.plain != nil && c.plain[i] {
		return z
	}
	return math.Exp(z)
}

func (p Problem) check() (*checked, error) {
	n := len(p.Start)
	if n == 0 {
		return nil, fmt.Errorf("hyperopt: Problem.Start is empty")
	}
	for _, f := range []struct {
		name string
		len  int
		set  bool
	}{
		{"Names", len(p.Names), p.Names != nil},
		{"Lower", len(p.Lower), p.Lower != nil},
		{"Upper", len(p.Upper), p.Upper != nil},
		{"Fixed", len(p.Fixed), p.Fixed != nil},
		{"Plain", len(p.Plain), p.Plain != nil},
	} {
		if f.set && f.len != n {
			return nil, fmt.Errorf("hyperopt: Problem.%s has %d elements, Start has %d", f.name, f.len, n)
		}
	}
	c := &checked{
		obj:    p.Objective,
		wrap:   p.Wrap,
		names:  make([]string, n),
		start:  append([]float64(nil), p.Start...),
		metric: p.Metric,
		clamps: make([]clamp, n),
		fixed:  make([]bool, n),
	}
	copy(c.fixed, p.Fixed)
	c.plain = p.Plain
	for i := range c.names {
		c.names[i] = fmt.Sprintf("parameter %d", i)
		if p.Names != nil && p.Names[i] != "" {
			c.names[i] = p.Names[i]
		}
		lo, hi := math.Inf(-1), math.Inf(1)
		if p.Lower != nil {
			lo = p.Lower[i]
		}
		if p.Upper != nil {
			hi = p.Upper[i]
		}
		if err := c.checkParameter(i, lo, hi); err != nil {
			return nil, err
		}
	}
	if p.Further != nil {
		c.further = []Start{}
	}
	for k, s := range append([]Start{{p.Start, p.Metric}}, p.Further...) {
		if len(s.Z) != n || s.Metric != nil && len(s.Metric) != n*n {
			return nil, fmt.Errorf("hyperopt: start %d has %d elements and a metric of %d, expected %d and %d", k, len(s.Z), len(s.Metric), n, n*n)
		}
		if k > 0 {
			c.further = append(c.further, s)
		}
	}
	return c, nil
}

// checkParameter sets clamps[i] and moves start[i] inside, if it is free.
func (c *checked) checkParameter(i int, lo, hi float64) error {
	name, z := c.names[i], c.start[i]
	switch {
	case math.IsNaN(z) || math.IsInf(z, 0):
		return fmt.Errorf("hyperopt: the start of %s is not a finite log-parameter: %g", name, z)
	case math.IsNaN(lo) || math.IsInf(lo, 1):
		return fmt.Errorf("hyperopt: the lower bound of %s is %g", name, lo)
	case math.IsNaN(hi) || math.IsInf(hi, -1):
		return fmt.Errorf("hyperopt: the upper bound of %s is %g", name, hi)
	case lo > hi:
		return fmt.Errorf("hyperopt: the lower bound of %s is above its upper bound: %g > %g (logs: %g > %g)",
			name, c.natural(i, lo), c.natural(i, hi), lo, hi)
	}
	c.clamps[i] = newClamp(lo, hi)
	if c.fixed[i] {
		if z < lo || z > hi {
			c.warnf("%s is fixed at %.6g, outside its bounds [%.6g, %.6g]", name, c.natural(i, z), c.natural(i, lo), c.natural(i, hi))
		}
		return nil
	}
	if w := hi - lo; !math.IsInf(w, 0) && w <= 1e-10*math.Max(1, math.Max(math.Abs(lo), math.Abs(hi))) {
		// Nothing to move in: as good as fixed.
		c.fixed[i] = true
		c.start[i] = math.Min(math.Max(z, lo), hi)
	} else {
		c.start[i] = c.clamps[i].begin(z, c.metric != nil)
	}
	if moved := c.start[i]; moved != z {
		c.warnf("the start of %s, %.6g, is outside its bounds [%.6g, %.6g] or at one: moved to %.6g",
			name, c.natural(i, z), c.natural(i, lo), c.natural(i, hi), c.natural(i, moved))
	}
	return nil
}

func (c *checked) warnf(format string, args ...any) {
	c.warnings = append(c.warnings, fmt.Sprintf(format, args...))
}

// free returns the indices of the parameters that are not fixed.
func (c *checked) free() []int {
	var idx []int
	for i, f := range c.fixed {
		if !f {
			idx = append(idx, i)
		}
	}
	return idx
}
