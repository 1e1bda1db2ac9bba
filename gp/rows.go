package gp

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"gonum.org/v1/gonum/floats"

	"gpfit/internal/suggest"
	"gpfit/kernel"
)

// ShapeError reports rows whose length does not match the features of a model.
type ShapeError struct {
	// Numbers is the number of values given for Rows rows of Features features.
	Numbers, Rows, Features int
}

func (e *ShapeError) Error() string {
	return fmt.Sprintf("gp: got %d numbers for %d rows of %d features", e.Numbers, e.Rows, e.Features)
}

// scaledRows selects the columns in use from n rows of features, row-major with one
// column for every name in FeatureNames, and scales them. The result is
// n×len(Columns). Errors are [*ShapeError].
func scaledRows(m *Model, rows []float64, n int) ([]float64, error) {
	all, d := len(m.FeatureNames), len(m.Columns)
	if n < 0 || len(rows) != n*all {
		return nil, &ShapeError{Numbers: len(rows), Rows: n, Features: all}
	}
	used := make([]float64, n*d)
	for i := range n {
		for q, c := range m.Columns {
			used[i*d+q] = rows[i*all+c]
		}
	}
	return m.Scaling.Inputs(used), nil
}

// noisesOf returns the noise variance of a new observation at n rows, in scaled
// units: the estimated variance of the row's group, divided by the row's weight if it has one that is not 0,
// plus the row's known variance, if any. Errors are [*NoiseError].
func noisesOf(m *Model, n int, row RowNoise) ([]float64, error) {
	out := make([]float64, n)
	if row.Known != nil && len(row.Known) != n || row.Group != nil && len(row.Group) != n || row.Weight != nil && len(row.Weight) != n {
		return nil, fmt.Errorf("gp: %d known variances, %d groups and %d weights for %d rows", len(row.Known), len(row.Group), len(row.Weight), n)
	}
	if row.Known != nil && m.Noise.Column == "" || row.Weight != nil && m.Noise.WeightColumn == "" {
		return nil, fmt.Errorf("gp: the rows have known variances or weights, but the model was fitted without them")
	}
	square := m.Scaling.YScale * m.Scaling.YScale
	for i := range out {
		v, err := groupVariance(m, i, row)
		if err != nil {
			return nil, err
		}
		if row.Weight != nil {
			w := row.Weight[i]
			if !(w >= 0) || math.IsInf(w, 0) {
				return nil, &NoiseError{i, fmt.Sprintf("the weight is %v, but must be a nonnegative number", w)}
			}
			v /= cmp.Or(w, 1)
		}
		if row.Known != nil {
			if !(row.Known[i] >= 0) || math.IsInf(row.Known[i], 0) {
				return nil, &NoiseError{i, fmt.Sprintf("the noise variance is %v, but must be a nonnegative number", row.Known[i])}
			}
			v += row.Known[i] / square
		}
		out[i] = v
	}
	return out, nil
}

// CheckNoise returns a [*NoiseError] if row lacks noise information that the
// prediction of n rows needs.
func (m *Model) CheckNoise(n int, row RowNoise) error {
	_, err := noisesOf(m, n, row)
	return err
}

// groupVariance returns the estimated variance of a row.
func groupVariance(m *Model, i int, row RowNoise) (float64, error) {
	if len(m.Noise.Labels) == 0 {
		return m.NoiseVariance, nil
	}
	g := -1
	if row.Group != nil {
		g = slices.Index(m.Noise.Labels, row.Group[i])
	}
	if g < 0 && row.DefaultGroup != "" {
		g = slices.Index(m.Noise.Labels, row.DefaultGroup)
	}
	if g >= 0 {
		return m.Noise.Variances[g], nil
	}
	unknown := func(label string) string {
		return fmt.Sprintf("the model has no noise group %q%s; its groups are %s", label, suggest.DidYouMean(label, m.Noise.Labels), strings.Join(m.Noise.Labels, ", "))
	}
	switch {
	case row.DefaultGroup != "":
		return 0, &NoiseError{-1, unknown(row.DefaultGroup)}
	case row.Group == nil:
		return 0, &NoiseError{-1, fmt.Sprintf("the model has a noise variance for each group of the column %q, but the rows have no groups; the model's groups are %s", m.Noise.GroupColumn, strings.Join(m.Noise.Labels, ", "))}
	}
	return 0, &NoiseError{i, unknown(row.Group[i])}
}

// meanValues returns the values of the mean function at n scaled rows, in scaled units.
func meanValues(m *Model, scaled []float64, n int) []float64 {
	d := len(m.Columns)
	out := make([]float64, n)
	for j, f := range m.Mean.Basis {
		for i := range out {
			out[i] += m.Mean.Coefficients[j] * f.At(scaled[i*d+f.Column])
		}
	}
	return out
}

// Residuals returns the targets minus the mean function in scaled units, n×T column-major.
func (m *Model) Residuals() (out []float64) {
	inputs := m.Scaling.Inputs(m.X)
	for _, one := range targetsOf(m) {
		residual := one.Scaling.Targets(one.Y)
		floats.Sub(residual, meanValues(one, inputs, m.N()))
		out = append(out, residual...)
	}
	return out
}

// meanSlopes adds the derivatives of the mean function at n scaled rows by their
// coordinates to grad, n×len(Columns), in scaled units.
func meanSlopes(m *Model, scaled, grad []float64) {
	d := len(m.Columns)
	for j, f := range m.Mean.Basis {
		for i := f.Column; i < len(grad); i += d {
			grad[i] += m.Mean.Coefficients[j] * f.Slope(scaled[i])
		}
	}
}

// diagonalOf returns the prior variances at points.
func diagonalOf(prog *kernel.Program, theta []float64, xs *kernel.Points) []float64 {
	e, out := kernel.NewEvaluator(prog), make([]float64, xs.N)
	e.Bind(theta)
	e.Diagonal(out, xs, 0, xs.N)
	return out
}

// eachRow calls f for every row in parallel, with an evaluator of the kernel and scratch
// space for a piece of a row.
func eachRow(ctx context.Context, rows int, prog *kernel.Program, theta []float64, f func(e *kernel.Evaluator, piece []float64, i int)) error {
	return eachRowOn(ctx, 0, rows, prog, theta, f)
}

// eachRowOn is eachRow on that many threads, 0 for all. One goroutine handles a whole row,
// so results do not depend on the number of goroutines.
func eachRowOn(ctx context.Context, threads, rows int, prog *kernel.Program, theta []float64, f func(e *kernel.Evaluator, piece []float64, i int)) error {
	if threads <= 0 {
		threads = runtime.GOMAXPROCS(0)
	}
	var next atomic.Int64
	var group sync.WaitGroup
	for range min(threads, rows) {
		group.Go(func() {
			e, piece := kernel.NewEvaluator(prog), make([]float64, rowPiece)
			e.Bind(theta)
			for ctx.Err() == nil {
				i := int(next.Add(1)) - 1
				if i >= rows {
					return
				}
				f(e, piece, i)
			}
		})
	}
	group.Wait()
	return ctx.Err()
}

// rowPiece is the length of the rows passed to an evaluator. It keeps the scratch
// space in the first-level cache.
const rowPiece = 512
