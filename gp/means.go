package gp

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/floats"

	"gpfit/device"
	"gpfit/kernel"
)

// Means predicts only posterior means, without variances. It needs no factor: a
// prediction at m rows evaluates the kernel at n·m pairs and takes no n³ or n²·m
// operations. It is not safe for concurrent use.
type Means struct {
	model *Model
	prog  *kernel.Program
	x     *kernel.Points
	on    device.MeanPredictor
	// ws predicts where on is nil.
	ws device.Workspace
	// posterior predicts transformed targets, whose means need their variances; nil without, or until
	// backend has to open it.
	posterior *Posterior
	backend   device.Backend
}

// Means prepares the model to predict means on a backend. On the CPU that takes memory of the
// order n; a GPU allocates an n×n matrix. It returns the errors of [device.Backend].
func (m *Model) Means(ctx context.Context, b device.Backend) (*Means, error) {
	on, w, err := suited(m, b)
	if err != nil {
		return nil, err
	}
	p := &Means{model: m, prog: w.Program, x: w.Points, backend: b, on: meanPredictor(on)}
	if p.on == nil {
		p.ws, err = on.NewWorkspace(ctx, p.x)
	}
	return p, err
}

// meanPredictor returns what predicts means without a workspace: the backend, or the only device of the
// dense method; nil if neither does.
func meanPredictor(b device.Backend) device.MeanPredictor {
	if on, ok := b.(device.MeanPredictor); ok {
		return on
	}
	if c := b.Capabilities(); len(c.Devices) == 1 && c.Method == device.DenseName {
		on, _ := c.Devices[0].(device.MeanPredictor)
		return on
	}
	return nil
}

// Model returns the model.
func (p *Means) Model() *Model { return p.model }

// Predict returns the means of each target at m rows of features, row-major with one
// column for every name in FeatureNames, in original units. They have the bits of
// [Posterior.PredictTargets]. Errors are [*ShapeError], [*RangeError] and the device's.
func (p *Means) Predict(ctx context.Context, rows []float64, m int) ([][]float64, error) {
	if p.model.Scaling.Transform != nil && p.posterior == nil {
		var err error
		if p.posterior, err = p.model.Condition(ctx, p.backend); err != nil {
			return nil, err
		}
	}
	if p.posterior != nil {
		return p.posterior.PredictMeans(ctx, rows, m)
	}
	return meansAt(p.model, rows, m, func(scaled []float64, xs *kernel.Points) ([][]float64, error) { return p.scaled(ctx, scaled, xs) })
}

// scaled returns the mean of each target at scaled rows, in scaled units.
func (p *Means) scaled(ctx context.Context, scaled []float64, xs *kernel.Points) ([][]float64, error) {
	sums := make([]float64, xs.N*p.model.T())
	if err := p.sums(ctx, xs, sums); err != nil {
		return nil, err
	}
	return withMeans(targetsOf(p.model), scaled, sums), nil
}

// sums writes k*ᵀα of each target.
func (p *Means) sums(ctx context.Context, xs *kernel.Points, out []float64) error {
	m := p.model
	if p.on != nil {
		return p.on.PredictMeans(ctx, p.x, p.prog, m.Theta, m.Alpha, xs, out)
	}
	err := p.ws.Predict(ctx, p.prog, m.Theta, m.Alpha, xs, out, nil)
	if !errors.Is(err, device.ErrStage) {
		return err
	}
	// This method needs its matrix even for means.
	if err := formWorkspace(ctx, m, p.ws, p.prog); err != nil {
		return err
	}
	return p.ws.Predict(ctx, p.prog, m.Theta, m.Alpha, xs, out, nil)
}

// Close frees the device's memory.
func (p *Means) Close() error {
	if p.posterior != nil {
		_ = p.posterior.Close()
	}
	if p.ws == nil {
		return nil
	}
	return p.ws.Close()
}

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
	// mostRelevanceWork is the work beyond which there is no relevance: minutes of one core.
	mostRelevanceWork = 1e11
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
// result is nil for tables of thousands of columns, for which pairs of only 16 rows would take minutes.
func Relevance(ctx context.Context, m *Model, threads int) ([]float64, error) {
	prog, err := m.Program()
	if err == nil && m.State.Method != "" {
		err = &device.UnsupportedError{Method: m.State.Method, What: "predictions without a posterior"}
	}
	if err != nil {
		return nil, err
	}
	return relevanceOf(m, relevanceNumbers, func(rows []float64, points *kernel.Points) ([][]float64, error) {
		return posteriorMeans(ctx, m, threads, prog, rows, points)
	})
}

// Relevance returns what [Relevance] returns, with the means of the posterior. It is
// the only way for a method that keeps a state with the model.
func (p *Posterior) Relevance(ctx context.Context) ([]float64, error) {
	return relevanceOf(p.whole, relevanceNumbers, func(rows []float64, points *kernel.Points) ([][]float64, error) {
		return scaledMeans(ctx, p, rows, points)
	})
}

// relevanceOf compares the means, in scaled units, of pairs of training rows. It changes as many columns
// at a time as have about the given number of numbers in their rows.
func relevanceOf(m *Model, numbers int, means func(rows []float64, points *kernel.Points) ([][]float64, error)) ([]float64, error) {
	d, pairs := len(m.Columns), relevancePairs(m)
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
		return means(rows, kernel.NewPoints(rows, count*len(pairs), d))
	}
	own, err := changed(-1, 1)
	if err != nil {
		return nil, err
	}
	spreads := make([]float64, len(own))
	for t := range own {
		spreads[t] = pairSpread(m.Target(t), pairs)
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

// pairSpread returns the root of the sum of (y_i − y_j)² over pairs, in scaled units. Its
// square is in expectation twice the variance of y for each pair; the same pairs in
// numerator and denominator cancel most of the sampling error of strong columns.
func pairSpread(m *Model, pairs [][2]int) float64 {
	y, sum := m.Scaling.Targets(m.Y), 0.0
	for _, p := range pairs {
		sum += (y[p[0]] - y[p[1]]) * (y[p[0]] - y[p[1]])
	}
	if sum == 0 {
		return 1
	}
	return math.Sqrt(sum)
}

// relevancePairs draws pairs of different training rows, with a fixed seed.
func relevancePairs(m *Model) [][2]int {
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
	return pairs
}

// posteriorMeans returns the posterior mean of each target at scaled rows, in scaled units.
func posteriorMeans(ctx context.Context, m *Model, threads int, prog *kernel.Program, rows []float64, points *kernel.Points) ([][]float64, error) {
	n, train := m.N(), m.Points()
	out := make([][]float64, m.T())
	for t := range out {
		out[t] = meanValues(m.Target(t), rows, points.N)
	}
	err := eachRowOn(ctx, threads, points.N, prog, m.Theta, func(e *kernel.Evaluator, piece []float64, i int) {
		for j := 0; j < n; j += rowPiece {
			end := min(j+rowPiece, n)
			e.Row(piece[:end-j], points, i, train, j, end)
			for t := range out {
				out[t][i] += floats.Dot(piece[:end-j], m.Alpha[t*n+j:t*n+end])
			}
		}
	})
	return out, err
}
