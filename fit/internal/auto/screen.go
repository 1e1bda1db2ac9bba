package auto

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/floats"

	"gpfit/fit/problem"
	"gpfit/fit/summary"
	"gpfit/internal/each"
)

// With more than mostOwnScales columns, a lengthscale for each of them takes minutes and loses in BIC. Then kernels with ard
// have a tenth as many columns as rows, within the given limits.
const (
	mostOwnScales          = 50
	leastScreened          = 4
	mostScreened           = 50
	rowsByScreened         = 10
	leastResidual  float64 = 1e-10 // of the squares of the targets, below which nothing is left to explain
)

// screen returns the kernels with a lengthscale for each column, or for the columns that a screen finds.
func (c *chooser) screen(mean string) []string {
	s := c.sample
	if s.Points.D <= mostOwnScales {
		return singles
	}
	found := pursue(s, min(max(leastScreened, s.N()/rowsByScreened), mostScreened))
	var dims, names []string
	for _, k := range found {
		dims, names = append(dims, strconv.Itoa(s.Columns[k])), append(names, s.Features.Label(s.Columns[k]))
	}
	few := dimsText(dims)
	kernels := each.Of(singles, func(kernel string) string { return strings.Replace(kernel, "ard", "ard, "+few, 1) })
	if _, err := c.with(kernels[0], mean, nil, s); err != nil || found == nil { // options may name lengthscales of others
		return singles
	}
	all, _ := math.Lgamma(float64(s.Points.D + 1))
	own, _ := math.Lgamma(float64(len(found) + 1))
	rest, _ := math.Lgamma(float64(s.Points.D - len(found) + 1))
	c.few, c.fewCost = few, 2*(all-own-rest)
	c.report.Screened = &summary.Screened{Columns: names, Of: s.Points.D}
	return kernels
}

// pursue returns at most the given number of columns, in their order, whose parabolas explain the targets, one after
// the other: always the column that explains most of what the others leave (orthogonal matching pursuit).
func pursue(s *problem.Sample, most int) (found []int) {
	n, x := s.N(), s.Points
	rest := make([][]float64, s.T())
	var left, all float64
	for t := range rest {
		rest[t] = slices.Clone(s.Targets[t*n : (t+1)*n])
		centre(rest[t])
		all += floats.Dot(rest[t], rest[t])
	}
	var basis [][]float64
	for left = all; len(found) < most && left > leastResidual*all; {
		best, gain := -1, 0.0
		for k := range x.D {
			if slices.Contains(found, k) {
				continue
			}
			own := 0.0
			for _, f := range parabola(x.Column(k)[:n]) {
				for _, r := range rest {
					own += math.Pow(floats.Dot(f, r), 2)
				}
			}
			if own > gain {
				best, gain = k, own
			}
		}
		if best < 0 {
			break
		}
		found = append(found, best)
		left = 0
		for _, f := range parabola(x.Column(best)[:n]) {
			for range 2 { // the second time for rounding
				for _, b := range basis {
					floats.AddScaled(f, -floats.Dot(f, b), b)
				}
			}
			if !unit(f, 1) {
				continue
			}
			basis = append(basis, f)
			for _, r := range rest {
				floats.AddScaled(r, -floats.Dot(f, r), f)
			}
		}
		for _, r := range rest {
			left += floats.Dot(r, r)
		}
	}
	slices.Sort(found)
	return found
}

// parabola returns orthonormal functions of a column that are not constant: a line, and what a square adds.
func parabola(column []float64) (out [][]float64) {
	line := slices.Clone(column)
	centre(line)
	if !unit(line, floats.Norm(column, 2)) {
		return nil
	}
	square := make([]float64, len(line))
	floats.MulTo(square, line, line)
	size := floats.Norm(square, 2)
	centre(square)
	floats.AddScaled(square, -floats.Dot(square, line), line)
	if !unit(square, size) {
		return [][]float64{line}
	}
	return [][]float64{line, square}
}

// centre subtracts the mean.
func centre(v []float64) { floats.AddConst(-floats.Sum(v)/float64(len(v)), v) }

// unit divides by the norm and reports whether that is more than rounding of the given size.
func unit(v []float64, size float64) bool {
	norm := floats.Norm(v, 2)
	if !(norm > 1e-7*size) {
		return false
	}
	floats.Scale(1/norm, v)
	return true
}
