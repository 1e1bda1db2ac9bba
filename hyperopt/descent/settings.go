package descent

import (
	"fmt"
	"math"
)

// Defaults of [Settings].
const (
	DefaultMaxEvaluations    = 1000
	DefaultGradientTolerance = 1e-4
	DefaultRelativeTolerance = 1e-10
	// DefaultPrecision is that of a likelihood by a Cholesky factorisation in
	// float64 arithmetic.
	DefaultPrecision = 1e-12
)

// relativeIterations is how many iterations in a row must change f by less than
// Settings.RelativeTolerance: a single short step says nothing about
// convergence.
const relativeIterations = 5

// Settings tells how to minimise. The zero value is ready to use.
type Settings struct {
	// Method is the algorithm; nil means LBFGS.
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
	// Precision, times max(1, |f|), is the difference of two values below which
	// their order is taken to be rounding; 0 means DefaultPrecision. A method of
	// evaluation that estimates f has a larger one.
	Precision float64
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
	// Callback, unless nil, is called at each start's first point and after
	// each accepted iteration, one call at a time; with several objectives
	// from different goroutines.
	Callback func(Iteration)
}

func (s Settings) withDefaults() (Settings, error) {
	switch {
	case s.MaxEvaluations < 0:
		return s, fmt.Errorf("hyperopt: MaxEvaluations is negative: %d", s.MaxEvaluations)
	case math.IsNaN(s.GradientTolerance):
		return s, fmt.Errorf("hyperopt: GradientTolerance is NaN")
	case math.IsNaN(s.RelativeTolerance):
		return s, fmt.Errorf("hyperopt: RelativeTolerance is NaN")
	case !(s.Precision >= 0):
		return s, fmt.Errorf("hyperopt: Precision is not a non-negative number: %g", s.Precision)
	case !(s.Reach >= 0):
		return s, fmt.Errorf("hyperopt: Reach is not a non-negative number: %g", s.Reach)
	}
	if s.Method == nil {
		s.Method = LBFGS{}
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
	if s.Precision == 0 {
		s.Precision = DefaultPrecision
	}
	return s, nil
}

// noise returns the rounding to be expected in f.
func (s Settings) noise(f float64) float64 { return s.Precision * math.Max(1, math.Abs(f)) }

// TakesMetric reports whether the method makes use of a metric, and leaves one.
func (s Settings) TakesMetric() bool {
	_, ok := s.Method.(LBFGS)
	return ok || s.Method == nil
}
