package hyperopt

import (
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distmv"
	"gonum.org/v1/gonum/stat/distuv"
	"gonum.org/v1/gonum/stat/samplemv"
)

// LatinStarts returns n starts of p: p.Start itself, and n−1 around it from a
// Latin hypercube, moved inside the bounds. Each log-parameter's n−1 values are
// one from each of so many slices of equal probability of the distribution of
// random starts, see Settings.RestartStd, and so are the common shifts: few
// starts cover it evenly. They depend on p, s.Seed and n.
func LatinStarts(p Problem, s Settings, n int) ([]Start, error) {
	s, err := s.withDefaults()
	if err != nil {
		return nil, err
	}
	c, err := p.check()
	if err != nil {
		return nil, err
	}
	starts := []Start{{Z: slices.Clone(p.Start), Metric: p.Metric}}
	if n < 2 {
		return starts, nil
	}
	deviates := latinDeviates(c, s.Seed, n-1)
	for _, row := range deviates {
		z := slices.Clone(c.start)
		for i, v := range row {
			if !c.fixed[i] {
				z[i] = c.clamps[i].inside(z[i] + s.RestartStd*v)
			}
		}
		starts = append(starts, Start{Z: z})
	}
	return starts, nil
}

// latinDeviates returns n rows of standard normal deviates for the parameters,
// those of a group with correlation ½.
func latinDeviates(c *checked, seed uint64, n int) [][]float64 {
	groups := map[string]int{} // column of the shift of a group
	members := map[string]int{}
	for _, name := range c.names {
		members[group(name)]++
	}
	columns := len(c.names)
	for _, name := range c.names {
		if g := group(name); members[g] > 1 && groups[g] == 0 {
			groups[g] = columns
			columns++
		}
	}
	sample := mat.NewDense(n, columns, nil)
	src := rand.NewPCG(seed, 0x6c6174696e)
	samplemv.LatinHypercube{Q: distmv.NewUnitUniform(columns, src), Src: src}.Sample(sample)
	rows := make([][]float64, n)
	for k := range rows {
		normal := func(j int) float64 { return distuv.UnitNormal.Quantile(sample.At(k, j)) }
		for i, name := range c.names {
			v := normal(i)
			if shift, ok := groups[group(name)]; ok {
				v = (v + normal(shift)) * math.Sqrt2 / 2
			}
			rows[k] = append(rows[k], v)
		}
	}
	return rows
}
