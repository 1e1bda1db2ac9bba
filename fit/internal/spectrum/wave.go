// Package spectrum finds periods in targets: by a periodogram, and as the periods of a kernel at
// which the likelihood over few rows is lowest.
package spectrum

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/lapack/lapack64"

	"gpfit/internal/matrixrows"
	"gpfit/kernel"
)

// Constants of a scan: its largest number of rows; the turns of a wave over the range; the lengthscales
// of the leaf, for which a wave is a sine or has harmonics; the step in turns, in units of the
// lengthscale; the number of minima, and their least distance in turns; and the rounds of steps from each.
const (
	mostRows             = 80
	leastTurns, maxTurns = 0.7, 60
	turnStep             = 0.35
	minima, nearTurns    = 3, 0.5
	rounds               = 8
)

var lengthscales = []float64{0.3, 1}

// Scan is a search for the period of one leaf of a kernel over some rows of a table.
type Scan struct {
	// Theta returns the parameters of the kernel with a wave of the given turns over the range, whose
	// leaf has a lengthscale.
	Theta     func(turns, lengthscale float64) []float64
	evaluator *kernel.Evaluator
	rows      *kernel.Points
	targets   [][]float64 // of the rows, less their mean
	matrix    blas64.Symmetric
	most      float64 // turns
}

// Wave is a trial, by its turns over the range, its lengthscale and the noise variance. The
// covariance is multiplied by the Scale that minimizes the objective F: the negative log likelihood
// without its constants.
type Wave struct {
	Turns, Lengthscale, Noise float64
	F, Scale                  float64
}

// NewScan returns a scan of a kernel over at most 80 of all n points. The targets are column-major, n of each.
func NewScan(prog *kernel.Program, all *kernel.Points, targets []float64) *Scan {
	rows := matrixrows.DrawRows(all.N, min(all.N, mostRows), 1, 3)
	n := len(rows)
	s := &Scan{evaluator: kernel.NewEvaluator(prog), rows: all.Pick(rows), most: min(float64(all.N)/2, maxTurns),
		matrix: blas64.Symmetric{N: n, Stride: n, Uplo: blas.Lower, Data: make([]float64, n*n)}}
	for y := range slices.Chunk(targets, all.N) {
		y = matrixrows.Values(y, rows)
		floats.AddConst(-floats.Sum(y)/float64(n), y)
		s.targets = append(s.targets, y)
	}
	return s
}

// Lowest returns the lowest minima over the turns, from a start value of the noise variance. In each, the
// lengthscale and the noise have taken some steps, too, because another period needs others.
func (s *Scan) Lowest(noise float64) []Wave {
	var low, out []Wave
	for _, lengthscale := range lengthscales {
		var all []Wave
		for turns := leastTurns; turns <= s.most; turns += turnStep * lengthscale {
			all = append(all, s.try(Wave{Turns: turns, Lengthscale: lengthscale, Noise: noise}))
		}
		for k, c := range all {
			if (k == 0 || c.F <= all[k-1].F) && (k == len(all)-1 || c.F < all[k+1].F) {
				low = append(low, c)
			}
		}
	}
	byF := func(a, b Wave) int { return cmp.Compare(a.F, b.F) }
	slices.SortStableFunc(low, byF)
	var lowest []Wave
	for _, c := range low {
		near := func(o Wave) bool { return math.Abs(o.Turns-c.Turns) < nearTurns }
		if len(lowest) < minima && !slices.ContainsFunc(lowest, near) {
			lowest, out = append(lowest, c), append(out, s.descend(c))
		}
	}
	slices.SortStableFunc(out, byF)
	return out
}

// moves change one coordinate of a trial by a step in turns or by a factor.
var moves = []func(c *Wave, step, factor float64){
	func(c *Wave, step, _ float64) { c.Turns += step },
	func(c *Wave, step, _ float64) { c.Turns -= step },
	func(c *Wave, _, factor float64) { c.Lengthscale *= factor },
	func(c *Wave, _, factor float64) { c.Lengthscale /= factor },
	func(c *Wave, _, factor float64) { c.Noise *= factor * factor },
	func(c *Wave, _, factor float64) { c.Noise /= factor * factor },
}

// descend lowers the objective along one coordinate after the other (a pattern search as of Hooke and
// Jeeves, Journal of the ACM 8, 1961).
func (s *Scan) descend(c Wave) Wave {
	step, factor := turnStep*c.Lengthscale/2, 1.5
	for range rounds {
		before := c.F
		for _, move := range moves {
			to := c
			if move(&to, step, factor); to.Turns > 0 {
				if to = s.try(to); to.F < c.F {
					c = to
				}
			}
		}
		if !(c.F < before) {
			step, factor = step/2, math.Sqrt(factor)
		}
	}
	return c
}

// try returns the trial with its objective and scale. F is +Inf where the covariance has no factor.
func (s *Scan) try(c Wave) Wave {
	c.F, c.Scale = math.Inf(1), 1
	s.evaluator.Bind(s.Theta(c.Turns, c.Lengthscale))
	n := s.rows.N
	for i := range n {
		s.evaluator.Row(s.matrix.Data[i*n:i*n+i+1], s.rows, i, s.rows, 0, i+1)
		s.matrix.Data[i*n+i] += c.Noise
	}
	l, ok := lapack64.Potrf(s.matrix)
	if !ok {
		return c
	}
	logDet, square, v := 0.0, 0.0, make([]float64, n)
	for i := range n {
		logDet += 2 * math.Log(l.Data[i*n+i])
	}
	for _, y := range s.targets {
		copy(v, y)
		blas64.Trsv(blas.NoTrans, l, blas64.Vector{N: n, Data: v, Inc: 1})
		square += floats.Dot(v, v)
	}
	t := float64(len(s.targets))
	if c.Scale = square / (t * float64(n)); c.Scale > 0 {
		c.F = t * (float64(n)*math.Log(c.Scale) + logDet) / 2
	}
	return c
}
