package hyperopt

import (
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distmv"
	"gonum.org/v1/gonum/stat/distuv"
	"gonum.org/v1/gonum/stat/samplemv"

	"gpfit/hyperopt/descent"
)

// latinStarts returns n starts: the given one, and n−1 around it from a Latin
// hypercube, moved within the bounds. The n−1 values of each log-parameter come one
// from each of n−1 equally probable slices of a normal distribution with standard
// deviation restartStd, so that even few starts cover it evenly. Parameters of a
// group, such as lengthscale[0] and lengthscale[1], share a shift that makes up
// half of the variance, because independent draws of many lengthscales would never
// make all of them long or all of them short. The shifts also come from a
// hypercube. The starts depend only on the parameters, the seed and n.
func latinStarts(params []descent.Parameter, seed uint64, n int) [][]float64 {
	own := make([]float64, len(params))
	for i, p := range params {
		own[i] = p.Z(p.Start)
	}
	starts := [][]float64{own}
	if n < 2 {
		return starts
	}
	for _, row := range latinDeviates(params, seed, n-1) {
		z := slices.Clone(own)
		for i, p := range params {
			if !p.Fixed {
				z[i] = math.Min(math.Max(z[i]+restartStd*row[i], p.Z(p.Lower)), p.Z(p.Upper))
			}
		}
		starts = append(starts, z)
	}
	return starts
}

// latinDeviates returns n rows of standard normal deviates for the parameters, with
// correlation ½ within a group.
func latinDeviates(params []descent.Parameter, seed uint64, n int) [][]float64 {
	members := map[string]int{}
	for _, p := range params {
		members[p.Group]++
	}
	shifts := map[string]int{} // group → column of its shift
	columns := len(params)
	for _, p := range params {
		if members[p.Group] > 1 && shifts[p.Group] == 0 {
			shifts[p.Group] = columns
			columns++
		}
	}
	sample := mat.NewDense(n, columns, nil)
	src := rand.NewPCG(seed, 0x6c6174696e)
	samplemv.LatinHypercube{Q: distmv.NewUnitUniform(columns, src), Src: src}.Sample(sample)
	rows := make([][]float64, n)
	for k := range rows {
		normal := func(j int) float64 { return distuv.UnitNormal.Quantile(sample.At(k, j)) }
		for i, p := range params {
			v := normal(i)
			if shift, ok := shifts[p.Group]; ok {
				v = (v + normal(shift)) * math.Sqrt2 / 2
			}
			rows[k] = append(rows[k], v)
		}
	}
	return rows
}
