package sampler

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// DrawSummary describes the draws of one number.
type DrawSummary struct {
	// Mean, SD and Median summarize all draws; Lower and Upper are the quantiles of
	// 2.5 % and 97.5 %.
	Mean   float64 `json:"mean"`
	SD     float64 `json:"sd"`
	Lower  float64 `json:"q2_5"`
	Median float64 `json:"median"`
	Upper  float64 `json:"q97_5"`
	// RHat is the rank-normalized split R̂, ESSBulk and ESSTail are effective sample sizes
	// (Vehtari et al. 2021). They are nil if the draws do not vary or are too few, and for independent draws.
	RHat    *float64 `json:"r_hat,omitempty"`
	ESSBulk *float64 `json:"ess_bulk,omitempty"`
	ESSTail *float64 `json:"ess_tail,omitempty"`
}

// Summarize describes the draws of chains, one slice each, all of one length.
func Summarize(chains [][]float64) DrawSummary {
	all := slices.Concat(chains...)
	slices.Sort(all)
	mean, sd := stat.MeanStdDev(all, nil)
	quantile := func(p float64) float64 { return stat.Quantile(p, stat.LinInterp, all, nil) }
	s := DrawSummary{Mean: mean, SD: sd, Lower: quantile(0.025), Median: quantile(0.5), Upper: quantile(0.975)}
	if halves := split(chains); halves != nil {
		sorted := slices.Sorted(slices.Values(slices.Concat(halves...)))
		scores := normalized(halves)
		s.RHat, s.ESSBulk, s.ESSTail = finite(rankRHat(halves, scores, sorted)), finite(ess(scores)), finite(tailESS(halves, sorted))
	}
	return s
}

// finite returns a pointer to v, nil if it is not finite.
func finite(v float64) *float64 {
	if v-v != 0 {
		return nil
	}
	return &v
}

// fewest is the least number of draws of a chain for diagnostics.
const fewest = 8

// split halves each chain, and leaves out the middle of an odd number of draws. It
// returns nil if the draws are too few, not finite or all the same.
func split(chains [][]float64) [][]float64 {
	var out [][]float64
	for _, c := range chains {
		if len(c) < fewest || len(c) != len(chains[0]) {
			return nil
		}
		h := len(c) / 2
		out = append(out, c[:h], c[len(c)-h:])
	}
	all := slices.Concat(out...)
	if len(all) == 0 || slices.ContainsFunc(all, func(v float64) bool { return v-v != 0 }) || slices.Min(all) == slices.Max(all) {
		return nil
	}
	return out
}

// normalized replaces draws by normal scores of their ranks; equal draws get the mean of
// their ranks (Blom 1958).
func normalized(chains [][]float64) [][]float64 {
	all := slices.Concat(chains...)
	order, values := make([]int, len(all)), slices.Clone(all)
	floats.Argsort(values, order)
	scores := make([]float64, len(all))
	for i := 0; i < len(all); {
		j := i
		for j < len(all) && values[j] == values[i] {
			j++
		}
		rank := float64(i+j+1) / 2
		z := distuv.UnitNormal.Quantile((rank - 0.375) / (float64(len(all)) + 0.25))
		for k := i; k < j; k++ {
			scores[order[k]] = z
		}
		i = j
	}
	out := make([][]float64, len(chains))
	for c := range chains {
		n := len(chains[c])
		out[c], scores = scores[:n:n], scores[n:]
	}
	return out
}

// rankRHat returns the rank-normalized split R̂: the larger of the values for the bulk,
// whose normal scores are given, and for the distances from the median.
func rankRHat(halves, scores [][]float64, sorted []float64) float64 {
	median := stat.Quantile(0.5, stat.LinInterp, sorted, nil)
	folded := each(halves, func(v float64) float64 { return math.Abs(v - median) })
	return math.Max(rhat(scores), rhat(normalized(folded)))
}

// each returns f of every draw.
func each(chains [][]float64, f func(v float64) float64) [][]float64 {
	out := make([][]float64, len(chains))
	for c := range chains {
		for _, v := range chains[c] {
			out[c] = append(out[c], f(v))
		}
	}
	return out
}

// rhat is the classic √(V̂/W) of chains that are already split.
func rhat(chains [][]float64) float64 {
	n := float64(len(chains[0]))
	var means, variances []float64
	for _, c := range chains {
		m, v := stat.MeanVariance(c, nil)
		means, variances = append(means, m), append(variances, v)
	}
	within, between := stat.Mean(variances, nil), n*stat.Variance(means, nil)
	return math.Sqrt(((n-1)/n*within + between/n) / within)
}

// tailESS returns the smaller effective sample size of the 5 % and 95 % quantiles.
func tailESS(halves [][]float64, sorted []float64) float64 {
	least := math.Inf(1)
	for _, p := range []float64{0.05, 0.95} {
		q := stat.Quantile(p, stat.LinInterp, sorted, nil)
		least = math.Min(least, ess(each(halves, func(v float64) float64 {
			if v <= q {
				return 1
			}
			return 0
		})))
	}
	return least
}

// ess returns the effective sample size of split chains by Geyer's initial monotone sequence.
func ess(chains [][]float64) float64 {
	m, n := len(chains), len(chains[0])
	var means, variances []float64
	covariances := make([][]float64, m)
	for c := range chains {
		covariances[c] = autocovariance(chains[c])
		means = append(means, stat.Mean(chains[c], nil))
		variances = append(variances, covariances[c][0]*float64(n)/float64(n-1))
	}
	within := stat.Mean(variances, nil)
	total := within*float64(n-1)/float64(n) + stat.Variance(means, nil)
	rho := func(t int) float64 {
		mean := 0.0
		for c := range chains {
			mean += covariances[c][t] / float64(m)
		}
		return 1 - (within-mean)/total
	}
	tau, least := -1.0, math.Inf(1)
	for t := 0; t+1 < n; t += 2 {
		even := rho(t)
		if t == 0 {
			even = 1
		}
		pair := even + rho(t+1)
		if pair <= 0 {
			break
		}
		least = math.Min(least, pair)
		tau += 2 * least
	}
	draws := float64(m * n)
	return draws / math.Max(tau, 1/math.Log10(draws))
}

// autocovariance returns the biased autocovariances of all lags.
func autocovariance(v []float64) []float64 {
	n, mean := len(v), stat.Mean(v, nil)
	centred := make([]float64, n)
	for i := range v {
		centred[i] = v[i] - mean
	}
	out := make([]float64, n)
	for t := range n {
		out[t] = floats.Dot(centred[:n-t], centred[t:]) / float64(n)
	}
	return out
}
