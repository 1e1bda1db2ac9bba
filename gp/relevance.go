package gp

import (
	"context"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/floats"

	"gpfit/device"
	"gpfit/kernel"
)

// Limits of [Relevance].
const (
	// relevanceRows is the number of pairs of rows over which a relevance is averaged.
	// The standard error of a relevance from 128 pairs is at most about a tenth of
	// it, and less for columns that the target follows.
	relevanceRows = 128
	// relevanceWork bounds rows × columns × training rows × columns: seconds of one
	// core. A table beyond it uses fewer pairs, but at least leastRelevanceRows.
	relevanceWork      = 4e9
	leastRelevanceRows = 16
	// mostRelevanceWork is the work beyond which there is no relevance: some ten seconds of one core.
	mostRelevanceWork = 2e10
	// relevanceNumbers is the size of the rows that are predicted at a time, 16 MB.
	relevanceNumbers = 2 << 20
)

// Relevance returns how much the predictions depend on each column in use: the standard
// deviation of the part of the posterior mean m that the column takes part in, in units
// of the targets' standard deviation,
//
//	√(½ E[(m(x) − m(x with x_c of another row))²]) / sd(y).
//
// Its square is the total effect of Sobol′ in the estimator of Jansen (1999), as a share
// of the targets' variance: 1 means that the predictions follow the column as far as the
// targets vary, and 0 that they ignore it. A column that acts together with another
// counts for both. Unlike the inverse of a lengthscale it has the same meaning for all
// kernels and means, also for linear ones, whose lengthscales say nothing about
// relevance. Of columns that depend on each other, it changes only one.
//
// The expectation is over pairs of training rows, the same ones in each call, and sd(y) is √(½ E[(y
// − y′)²]) over the same pairs. Several targets share their mean square. The cost is O(128·d·n·d)
// operations, on the given threads of the host, 0 for all; the number does not change the result. The
// result is nil for tables of thousands of columns, for which pairs of only 16 rows would take too long.
func Relevance(ctx context.Context, m *Model, threads int) ([]float64, error) {
	return newRowPairs(m).onHost(ctx, threads, relevanceNumbers)
}

// Relevance returns what [Relevance] returns. For a method that keeps a state with the model it takes the means of the
// posterior, on its device.
func (p *Posterior) Relevance(ctx context.Context, threads int) ([]float64, error) {
	if p.whole.State.Method == "" {
		return Relevance(ctx, p.whole, threads)
	}
	return newRowPairs(p.whole).relevance(relevanceNumbers, func(xs *kernel.Points) ([][]float64, error) { return p.means(ctx, xs) })
}

// rowPairs are pairs of different training rows of a model.
type rowPairs struct {
	model *Model
	pairs [][2]int
}

// newRowPairs draws pairs with a fixed seed.
func newRowPairs(m *Model) *rowPairs {
	n, d := m.N(), float64(len(m.Columns))
	count := min(relevanceRows, max(leastRelevanceRows, int(relevanceWork/(d*d*float64(n)))))
	rng := rand.New(rand.NewPCG(1, uint64(n)))
	pairs := make([][2]int, 0, count)
	for len(pairs) < count {
		order := rng.Perm(n)
		for i := 0; i < n && len(pairs) < count; i++ {
			pairs = append(pairs, [2]int{order[i], order[(i+1)%n]})
		}
	}
	return &rowPairs{m, pairs}
}

// onHost returns the relevance with means that the threads of the host compute.
func (r *rowPairs) onHost(ctx context.Context, threads, numbers int) ([]float64, error) {
	m := r.model
	c, err := m.covariance()
	if err == nil && m.State.Method != "" {
		err = &device.UnsupportedError{Method: m.State.Method, What: "predictions without a posterior"}
	}
	if err != nil {
		return nil, err
	}
	x := m.Points()
	return r.relevance(numbers, func(xs *kernel.Points) ([][]float64, error) {
		means := make([][]float64, m.T())
		for t, one := range m.targets() {
			means[t] = one.Mean.at(xs)
		}
		return means, c.addSums(ctx, threads, x, m.Alpha, xs, means)
	})
}

// relevance compares the means, in scaled units, of the pairs. It changes as many columns
// at a time as have about the given number of numbers in their rows.
func (r *rowPairs) relevance(numbers int, means func(xs *kernel.Points) ([][]float64, error)) ([]float64, error) {
	m, pairs := r.model, r.pairs
	d := len(m.Columns)
	if float64(len(pairs))*float64(d)*float64(d)*float64(m.N()) > mostRelevanceWork {
		return nil, nil
	}
	scaled := m.Scaling.Inputs(m.X)
	// changed returns the means of the rows with columns first … first+count−1 changed, one block of
	// rows for each. first −1 is for the rows themselves.
	step := max(1, min(d, numbers/(len(pairs)*d)))
	block := make([]float64, 0, step*len(pairs)*d)
	changed := func(first, count int) ([][]float64, error) {
		rows := block[:0]
		for c := first; c < first+count; c++ {
			for _, pair := range pairs {
				rows = append(rows, scaled[pair[0]*d:pair[0]*d+d]...)
				if c >= 0 {
					rows[len(rows)-d+c] = scaled[pair[1]*d+c]
				}
			}
		}
		return means(kernel.NewPoints(rows, count*len(pairs), d))
	}
	own, err := changed(-1, 1)
	if err != nil {
		return nil, err
	}
	spreads := make([]float64, len(own))
	for t := range own {
		spreads[t] = r.spread(t)
	}
	out := make([]float64, d)
	for first := 0; first < d; first += step {
		count := min(step, d-first)
		values, err := changed(first, count)
		if err != nil {
			return nil, err
		}
		for c := range count {
			sum := 0.0
			for t, mean := range values {
				ratio := floats.Distance(own[t], mean[c*len(pairs):][:len(pairs)], 2) / spreads[t]
				sum += ratio * ratio / float64(len(values))
			}
			out[first+c] = math.Sqrt(sum)
		}
	}
	return out, nil
}

// spread returns the root of the sum of (y_i − y_j)² of a target over the pairs, in scaled units. Its
// square is in expectation twice the variance of y for each pair; the same pairs in
// numerator and denominator cancel most of the sampling error of strong columns.
func (r *rowPairs) spread(t int) float64 {
	one, sum := r.model.Target(t), 0.0
	y := one.Scaling.Targets(one.Y)
	for _, p := range r.pairs {
		sum += (y[p[0]] - y[p[1]]) * (y[p[0]] - y[p[1]])
	}
	if sum == 0 {
		return 1
	}
	return math.Sqrt(sum)
}
