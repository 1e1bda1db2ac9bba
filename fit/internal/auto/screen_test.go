package auto_test

import (
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"gpfit/fit/problem"
	"gpfit/internal/each"
	"gpfit/internal/testcheck"
)

// rest returns what least squares on the functions leave of r.
func rest(r []float64, functions ...[]float64) []float64 {
	a := mat.NewDense(len(r), len(functions), nil)
	for k, f := range functions {
		a.SetCol(k, f)
	}
	var beta, fit mat.VecDense
	if beta.SolveVec(a, mat.NewVecDense(len(r), r)) != nil {
		return r
	}
	fit.MulVec(a, &beta)
	out := slices.Clone(r)
	floats.Sub(out, fit.RawVector().Data)
	return out
}

// TestScreen compares the columns in the kernels of a table with many with the columns of a greedy search by least squares. Its
// BIC is the BIC of a fit of the chosen kernel alone, with a price for the choice among all sets of as many columns.
func TestScreen(t *testing.T) {
	const n, columns, most = 45, 120, 4
	d := table(n, columns, 0.1, func(x []float64) float64 { return x[3] + 2*x[70]*x[70] })
	out := run(t, d, problem.Options{})
	ones := slices.Repeat([]float64{1}, n)
	column := func(k int) (line, square []float64) {
		for i := range n {
			v := d.X[i*columns+k]
			line, square = append(line, v), append(square, v*v)
		}
		return line, square
	}
	left, basis, want := d.Y, [][]float64{ones}, []int(nil)
	for range most {
		best, least := -1, math.Inf(1)
		for k := range columns {
			line, square := column(k)
			if size := floats.Norm(rest(left, ones, line, square), 2); size < least && !slices.Contains(want, k) {
				best, least = k, size
			}
		}
		line, square := column(best)
		want, basis = append(want, best), append(basis, line, square)
		left = rest(d.Y, basis...)
	}
	slices.Sort(want)
	c := out.Report.Choice
	names := each.Of(want, out.Job.Sample.Features.Label)
	if c.Screened == nil || !slices.Equal(c.Screened.Columns, names) || c.Screened.Of != columns || !slices.Contains(want, 3) || !slices.Contains(want, 70) {
		t.Fatalf("screened %+v, want columns %v", c.Screened, names)
	}
	chosen := c.Models[0]
	alone := run(t, d, problem.Options{Kernel: chosen.Kernel, Mean: chosen.Mean}).Report
	sets := 120.0 * 119 * 118 * 117 / 24
	testcheck.Within(t, chosen.BIC, 2*alone.NLML+float64(chosen.Parameters)*math.Log(n)+2*math.Log(sets), 0.5, "BIC of %s", chosen.Kernel)
}

// TestFewColumnsHaveNoScreen has as many columns as all kernels take.
func TestFewColumnsHaveNoScreen(t *testing.T) {
	out := run(t, table(30, 50, 0.1, func(x []float64) float64 { return x[3] }), problem.Options{})
	if s := out.Report.Choice.Screened; s != nil {
		t.Fatalf("screened %+v", s)
	}
}
