package experts_test

import (
	"math"
	"testing"

	"gpfit/experts"
)

// TestCombinedSame checks that experts with the same prior that trust each other fully are the
// committee of Deisenroth and Ng 2015, eq. 20 and 21, and that one without trust predicts alone.
func TestCombinedSame(t *testing.T) {
	const prior = 2.0
	mean, variance := []float64{1, -0.5, 0.3}, []float64{0.1, 1.9, 0.7}
	var all []experts.Opinion
	for k := range mean {
		all = append(all, experts.Opinion{PriorMean: []float64{0}, PriorVariance: []float64{prior}, Mean: mean[k : k+1], Variance: variance[k : k+1]})
	}
	precision, sum, betas := 0.0, 0.0, 0.0
	for k, v := range variance {
		beta := 0.5 * (math.Log(prior) - math.Log(v))
		precision, sum, betas = precision+beta/v, sum+beta*mean[k]/v, betas+beta
	}
	precision += (1 - betas) / prior
	p := &experts.Partition{Trust: []experts.Trust{{Weight: 1, Temperature: 1}, {Weight: 0, Temperature: 1}, {Weight: 1, Temperature: 1e300}}}
	near := func(what string, got, want float64) {
		if math.Abs(got-want) > 1e-12*(1+math.Abs(want)) {
			t.Errorf("%s %v, want %v", what, got, want)
		}
	}
	m, v := p.Combined([]int{0}, all)
	near("mean", m[0], sum/precision)
	near("variance", v[0], 1/precision)
	m, v = p.Combined([]int{1}, all)
	near("mean alone", m[0], mean[1])
	near("variance alone", v[0], variance[1])
	_, v = p.Combined([]int{2}, all)
	near("hottest variance", v[0], prior)
}

// TestCalibratedTrust checks that an expert does not trust one that is sure and wrong, and
// that right ones gain by each other.
func TestCalibratedTrust(t *testing.T) {
	const n = 400
	own, observed, noise := make([]int, n), make([]float64, n), make([]float64, n)
	wrong, right, home := opinion(n), opinion(n), opinion(n)
	for i := range n {
		truth, miss, other := math.Sin(float64(i)), math.Cos(7*float64(i)), math.Cos(11*float64(i)+1)
		observed[i], noise[i] = truth, 1e-4
		home.Mean[i], home.Variance[i] = truth+0.3*math.Sqrt2*miss, 0.09
		right.Mean[i], right.Variance[i] = truth+0.3*math.Sqrt2*other, 0.09
		wrong.Mean[i], wrong.Variance[i] = 2, 0.01
	}
	p := &experts.Partition{Centres: [][]float64{{0}, {1}}}
	if got := p.Calibrated(own, []experts.Opinion{home, wrong}, observed, noise).Trust[0]; got.Weight != 0 {
		t.Errorf("trust in a wrong expert: %+v", got)
	}
	c := p.Calibrated(own, []experts.Opinion{home, right}, observed, noise)
	if c.Trust[0].Weight == 0 || c.Scores[1].NLPD >= c.Scores[0].NLPD || c.Scores[1].RMSE >= c.Scores[0].RMSE {
		t.Errorf("trust in a right expert: %+v, scores %+v", c.Trust[0], c.Scores)
	}
	if got := c.Trust[1]; got != (experts.Trust{Weight: 0, Temperature: 1}) {
		t.Errorf("an expert without rows: %+v", got)
	}
}

// opinion returns an opinion of n points with the prior of a standard normal distribution.
func opinion(n int) experts.Opinion {
	o := experts.Opinion{PriorMean: make([]float64, n), PriorVariance: make([]float64, n), Mean: make([]float64, n), Variance: make([]float64, n)}
	for i := range n {
		o.PriorVariance[i] = 1
	}
	return o
}
