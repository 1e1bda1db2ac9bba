package hyperopt

import (
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"

	"gpfit/hyperopt/descent"
	"gpfit/internal/each"
)

// starts returns the first n starts of a sequence: the given one, the suggested ones, and
// then points that fill the box which these span. The sequence does not depend on n, so
// more restarts only add starts.
func starts(params []descent.Parameter, suggested [][]float64, seed uint64, n int) [][]float64 {
	own := each.Of(params, func(q descent.Parameter) float64 { return q.Z(q.Start) })
	out := append([][]float64{own}, suggested...)
	if len(out) >= n {
		return out[:n:n]
	}
	return append(out, filling(params, out, seed, n-len(out))...)
}

// filling returns n points around the given ones, within the bounds. A log-parameter that the
// given points vary is uniform over their range; one that they do not vary is normal around it
// with standard deviation restartStd. Parameters of a group, such as lengthscale[0] and
// lengthscale[1], share such a number and differ by half of the variance of a normal one, because
// independent draws of many lengthscales would never make all of them long or all of them short.
func filling(params []descent.Parameter, given [][]float64, seed uint64, n int) [][]float64 {
	members, columns := map[string]int{}, map[string]int{}
	for _, p := range params {
		members[p.Group]++
	}
	count := len(params)
	for _, p := range params {
		if _, ok := columns[p.Group]; !ok {
			columns[p.Group] = count
			count++
		}
	}
	var out [][]float64
	for _, u := range kronecker(count, seed, n) {
		z := slices.Clone(given[0])
		for i, p := range params {
			if p.Fixed {
				continue
			}
			lo, hi := span(given, i)
			shared, deviate := u[columns[p.Group]], distuv.UnitNormal.Quantile(u[i])
			single, half := members[p.Group] == 1, restartStd*math.Sqrt2/2
			switch {
			case hi > lo && single:
				z[i] = lo + shared*(hi-lo)
			case hi > lo:
				z[i] = lo + shared*(hi-lo) + half*deviate
			case single:
				z[i] += restartStd * deviate
			default:
				z[i] += half * (deviate + distuv.UnitNormal.Quantile(shared))
			}
			z[i] = min(max(z[i], p.Z(p.Lower)), p.Z(p.Upper))
		}
		out = append(out, z)
	}
	return out
}

// span returns the range of element i over the points.
func span(points [][]float64, i int) (lo, hi float64) {
	lo, hi = points[0][i], points[0][i]
	for _, z := range points {
		lo, hi = min(lo, z[i]), max(hi, z[i])
	}
	return lo, hi
}

// kronecker returns the first n points of a sequence that fills the unit cube of d
// dimensions evenly: the fractional parts of s + kα, with a random shift s and the roots
// of the first d primes as α (Richtmyer; Niederreiter, Random Number Generation and
// Quasi-Monte Carlo Methods, 1992, p. 24).
func kronecker(d int, seed uint64, n int) [][]float64 {
	rng := rand.New(rand.NewPCG(seed, 0x66696c6c))
	out := make([][]float64, n)
	for _, prime := range primes(d) {
		shift, root := rng.Float64(), math.Sqrt(prime)
		for k := range out {
			_, u := math.Modf(shift + float64(k+1)*root)
			out[k] = append(out[k], min(max(u, 0x1p-40), 1-0x1p-40))
		}
	}
	return out
}

// primes returns the first n primes.
func primes(n int) []float64 {
	var out []float64
	for v := 2.0; len(out) < n; v++ {
		if !slices.ContainsFunc(out, func(p float64) bool { return math.Mod(v, p) == 0 }) {
			out = append(out, v)
		}
	}
	return out
}

// order is the rows of a table in random order, with the rows of a group next to each other.
type order struct {
	rows []int
	// ends are the numbers of rows after each group.
	ends []int
}

// Streams of random numbers: the stages, the half of start 0, and the rows for alternatives.
const (
	coarseStream = 0x636f61727365
	halfStream   = 0x68616c66 << 16
	screenStream = 0x73637265 << 16
)

// order returns the random order of a stream.
func (t *tuner) order(stream uint64) order {
	rng := rand.New(rand.NewPCG(t.Seed, stream))
	if t.groups == nil {
		return order{rows: rng.Perm(t.rows)}
	}
	var o order
	for _, g := range rng.Perm(len(t.groups)) {
		o.rows = append(o.rows, t.groups[g]...)
		o.ends = append(o.ends, len(o.rows))
	}
	return o
}

// first returns the first m rows, ascending, and the others of the last one's group.
// Larger subsets contain smaller ones.
func (o order) first(m int) []int {
	if i, _ := slices.BinarySearch(o.ends, m); i < len(o.ends) {
		m = o.ends[i]
	}
	return slices.Sorted(slices.Values(o.rows[:m]))
}

// grouped lists the rows of each group; nil if every row is on its own.
func grouped(labels []int) [][]int {
	if labels == nil {
		return nil
	}
	out := make([][]int, slices.Max(labels)+1)
	for row, g := range labels {
		out[g] = append(out[g], row)
	}
	return out
}
