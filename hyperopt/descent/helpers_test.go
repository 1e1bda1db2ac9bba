package descent

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/optimize"
)

// notPD is the error of an objective that is not defined at a point.
type notPD struct{ minor, n int }

func (e *notPD) Error() string {
	return fmt.Sprintf("covariance matrix is not positive definite: leading minor of order %d of %d", e.minor, e.n)
}

func (e *notPD) Infeasible() bool { return true }

func isNotPD(err error) bool {
	var e *notPD
	return errors.As(err, &e)
}

// arrays is a problem in plain numbers for tests; nil means no names, bounds, fixed
// parameters or further starts.
type arrays struct {
	Objective    Func
	Workers      []Func
	Wrap         func(start int, obj Func) Func
	Names        []string
	Start        []float64
	Metric       Metric
	Further      []Start
	Lower, Upper []float64
	Fixed        []bool
}

// how holds settings, and the number of starts drawn around Start unless Further is
// set.
type how struct {
	Method                               Method
	MaxEvaluations, Restarts             int
	GradientTolerance, RelativeTolerance float64
	ToleranceNats                        float64
	RestartStd                           float64
	Seed                                 uint64
	Race                                 bool
	Reach                                float64
	Callback                             func(Iteration)
	searcher                             func(*stepLimit, Options) optimize.Linesearcher
}

func (h how) settings() Options {
	s := Options{Method: h.Method, MaxEvaluations: h.MaxEvaluations, GradientTolerance: h.GradientTolerance,
		RelativeTolerance: h.RelativeTolerance, ToleranceNats: h.ToleranceNats, Race: h.Race, Reach: h.Reach, Callback: h.Callback}
	if h.searcher != nil {
		s.Method = LBFGS{searcher: h.searcher}
	}
	return s
}

func (a arrays) problem(h how) Search {
	p := Search{Starts: []Start{{Z: a.Start, Metric: a.Metric}}}
	if a.Objective != nil {
		p.Objectives = append([]Func{a.Objective}, a.Workers...)
	}
	for i, z := range a.Start {
		q := Parameter{Start: z, Lower: math.Inf(-1), Upper: math.Inf(1)}
		if a.Names != nil {
			q.Name = a.Names[i]
		}
		if a.Lower != nil {
			q.Lower = a.Lower[i]
		}
		if a.Upper != nil {
			q.Upper = a.Upper[i]
		}
		q.Fixed = a.Fixed != nil && a.Fixed[i]
		p.Parameters = append(p.Parameters, q)
	}
	p.Starts = append(p.Starts, a.Further...)
	std := h.RestartStd
	if std == 0 {
		std = 1.5
	}
	rng := rand.New(rand.NewPCG(h.Seed, 1))
	for k := 0; k < h.Restarts && a.Further == nil; k++ {
		z := make([]float64, len(a.Start))
		for i, v := range a.Start {
			z[i] = v + std*rng.NormFloat64()
		}
		p.Starts = append(p.Starts, Start{Z: z})
	}
	return p
}

// minimizeArrays minimises a, wrapped by Wrap if it is set.
func minimizeArrays(ctx context.Context, a arrays, h how) (*Result, error) {
	if a.Wrap != nil {
		a.Objective = a.Wrap(0, a.Objective)
	}
	return Minimize(ctx, a.problem(h), h.settings())
}

// rounding is the difference of two values below which they count as equal.
func rounding(f float64) float64 { return DefaultPrecision * math.Max(1, math.Abs(f)) }
