package compare

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"

	"gpfit/fit/summary"
	"gpfit/internal/each"
	"gpfit/internal/matrixrows"
	"gpfit/internal/score"
)

// clear reports whether the 95 % interval excludes 0.
func (d *Difference) clear() bool { return d.Lower95 != nil && *d.Lower95 > 0 }

// pairing says which scores of two methods belong together.
type pairing struct {
	// fold holds the number of the fold of each row, group its label (nil for none).
	fold  []int
	group []string
	// folds is the number of folds planned; 0 means one hold-out. blocks means that the
	// rows of a hold-out are in their order.
	folds  int
	blocks bool
}

// losses holds what each row adds to a score, so that the score is score(mean of values).
type losses struct {
	values []float64
	// root means that the score is the square root of the mean.
	root bool
}

func (l losses) score(values []float64) float64 {
	if l.root {
		return math.Sqrt(score.Mean(values))
	}
	return score.Mean(values)
}

// influences returns, for each row, by how much the score changes with the row's share of
// all rows (the influence function of the score; for a root by the delta method).
func (l losses) influences() []float64 {
	m, scale := score.Mean(l.values), 1.0
	if l.root {
		scale = 0
		if m > 0 {
			scale = 1 / (2 * math.Sqrt(m))
		}
	}
	return each.Of(l.values, func(v float64) float64 { return (v - m) * scale })
}

// difference compares a method with the best one; nil if a loss is not finite.
func (p pairing) difference(of, best losses) *Difference {
	value := of.score(of.values) - best.score(best.values)
	if summary.Finite(value) == nil {
		return nil
	}
	d := &Difference{Value: value}
	d.count(p, of, best)
	u, other := of.influences(), best.influences()
	for i := range u {
		u[i] -= other[i]
	}
	if se, freedom := p.stdError(u); freedom > 0 {
		t := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: freedom}.Quantile(0.975)
		lower, upper := value-t*se, value+t*se
		d.StdError, d.Lower95, d.Upper95 = &se, &lower, &upper
	}
	return d
}

// count counts the folds or rows that each of two methods wins.
func (d *Difference) count(p pairing, of, best losses) {
	units := make([][]int, 0, len(of.values))
	if p.folds > 0 {
		units = p.byFold()
	} else {
		for i := range of.values {
			units = append(units, []int{i})
		}
	}
	for _, rows := range units {
		a, b := of.score(matrixrows.Values(of.values, rows)), best.score(matrixrows.Values(best.values, rows))
		switch {
		case a < b:
			d.Better++
		case a > b:
			d.Worse++
		default:
			d.Equal++
		}
	}
}

// byFold returns the rows of each fold.
func (p pairing) byFold() [][]int {
	var out [][]int
	for i, k := range p.fold {
		if i == 0 || p.fold[i-1] != k {
			out = append(out, nil)
		}
		out[len(out)-1] = append(out[len(out)-1], i)
	}
	return out
}

// stdError returns the standard error of a difference of scores from the differences u of
// the influences of the rows, and its degrees of freedom, 0 if it is undefined.
//
// Folds: the variance over the folds, times 1/K + n_test/n_train because their training rows
// overlap (Nadeau and Bengio, Inference for the generalization error, Machine Learning 52, 2003).
// Hold-outs: the sandwich estimator with groups as clusters; with consecutive rows, ten consecutive
// batches are the clusters (the method of batch means); otherwise rows are independent. All of them
// leave out what another draw of the training rows of a hold-out would change.
func (p pairing) stdError(u []float64) (se, freedom float64) {
	n := float64(len(u))
	switch {
	case p.folds > 0:
		var means []float64
		folds := p.byFold()
		for _, rows := range folds {
			means = append(means, score.Mean(matrixrows.Values(u, rows))*float64(len(rows))*float64(len(folds))/n)
		}
		k := float64(len(means))
		return math.Sqrt((1/k + 1/float64(p.folds-1)) * score.Variance(means)), k - 1
	case p.group != nil:
		return clusterError(u, p.group)
	case p.blocks:
		return clusterError(u, batches(len(u)))
	}
	return math.Sqrt(score.Variance(u) / n), n - 1
}

// clusterError returns the standard error of the mean of u, whose rows with the same label
// may be correlated, and its degrees of freedom.
func clusterError[L cmp.Ordered](u []float64, label []L) (se, freedom float64) {
	sums := map[L]float64{}
	for i, v := range u {
		sums[label[i]] += v
	}
	squares, g := 0.0, float64(len(sums))
	for _, l := range slices.Sorted(maps.Keys(sums)) {
		squares += sums[l] * sums[l]
	}
	return math.Sqrt(squares*g/(g-1)) / float64(len(u)), g - 1
}

// mostBatches is the number of batches of a long series. More would be shorter, and neighbors
// in different batches would be correlated.
const mostBatches = 10

// batches returns the numbers of the batches of n consecutive rows, each of at least two.
func batches(n int) []int {
	count := max(1, min(mostBatches, n/2))
	out := make([]int, n)
	for i := range out {
		out[i] = i * count / n
	}
	return out
}
