package fit

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"gpfit/device"
	"gpfit/fit/internal/psis"
	"gpfit/fit/summary"
	"gpfit/fit/tuning"
	"gpfit/graph"
)

// Option posterior auto draws by importance resampling (Gelman et al., Bayesian Data Analysis, 3rd
// ed., section 10.4): candidates from t distributions around the modes, weighed with the posterior's
// density, from which a few draws are taken in proportion to the weights. It takes one value for each
// candidate.

const (
	// candidatesOfRound is the number of candidates of a round, averaged the number of draws of the model. While
	// k̂ is above the limit, another round follows, mostRounds in all, whose distribution the weights so far give.
	candidatesOfRound, averaged, mostRounds = 128, 64, 5
	// tails is the degrees of freedom of the candidates' t distribution. They are few: tails are heavy.
	tails = 5
	// shrinkage is the share of the mode's covariance in the distributions after the first.
	shrinkage = 0.3
)

// weigh returns draws by importance resampling, and k̂ of the ratios. The error says why predictions shall be of the
// optimum instead, if the gate says so.
func (p *posterior) weigh(ctx context.Context, s *tuning.Placement, modes []*mode) ([][]float64, float64, error) {
	rng := rand.New(rand.NewPCG(p.job.Options.Settings.Seed, 0x6175746f))
	ev := p.oracle(s, "weights")
	var us [][]float64
	var fs []float64
	rounds := [][]*mode{modes}
	for {
		for range candidatesOfRound {
			u := anyOf(rounds[len(rounds)-1], rng).distant(rng)
			f, err := ev.Value(ctx, u)
			if err != nil {
				return nil, 0, err
			}
			us, fs = append(us, u), append(fs, f)
		}
		logs := ratiosOf(rounds, us, fs)
		weights, k := psis.Smoothed(logs)
		known := summary.Facts{KHat: &k}
		switch unsound := refused(known.Found(summary.Optimum)); {
		case unsound == nil:
			drawn := resampled(us, weights, averaged, rng.Float64())
			return drawn, k, p.compare(ctx, s, drawn)
		case len(rounds) == mostRounds || math.IsNaN(k):
			return nil, k, unsound
		}
		rounds = append(rounds, []*mode{weighted(us, weights, modes[0])})
	}
}

// refused returns an error with the first of some reasons, nil without.
func refused(why []string) error {
	if why == nil {
		return nil
	}
	return errors.New(why[0])
}

// compare returns an error if averages over draws miss left-out rows more than the optimum, by the gate. Targets with noise
// need no such comparison: their optimum hardly predicts better, and its intervals are worse. Without leave-one-out scores
// there is nothing to compare.
func (p *posterior) compare(ctx context.Context, s *tuning.Placement, drawn [][]float64) error {
	noise, _ := estimatedNoise(p.job.Prepared, nil, p.rest)
	known := summary.Facts{Noise: math.Sqrt(max(noise, 0)) / deviation(p.job.Prepared), Averaged: math.Inf(1)}
	if known.Found(summary.Optimum) == nil {
		return nil
	}
	optimum, err := leftOutErrors(ctx, s, p.rest)
	average := make([]float64, len(optimum))
	for _, u := range drawn {
		var one []float64
		if one, err = leftOutErrors(ctx, s, p.vector(u)); one == nil || err != nil {
			return err
		}
		floats.AddScaled(average, 1/float64(len(drawn)), one)
	}
	if optimum == nil || err != nil {
		return err
	}
	scale := math.Sqrt(float64(len(optimum))) * deviation(p.job.Prepared)
	known.Averaged, known.AtOptimum = floats.Norm(average, 2)/scale, floats.Norm(optimum, 2)/scale
	return refused(known.Found(summary.Optimum))
}

// leftOutErrors returns the errors of predictions of each row from the others at z, nil if they are not defined or the
// method has none.
func leftOutErrors(ctx context.Context, s *tuning.Placement, z []float64) ([]float64, error) {
	_, left, err := s.LeaveOut(ctx, z)
	_, leverage := errors.AsType[*graph.LeverageError](err)
	_, unsupported := errors.AsType[*device.UnsupportedError](err)
	_, undefined := errors.AsType[*device.NotPDError](err)
	if leverage || unsupported || undefined {
		return nil, nil
	}
	return left.Errors, err
}

// distant returns a draw from the t distribution around the mode.
func (m *mode) distant(rng *rand.Rand) []float64 {
	squares := 0.0
	for range tails {
		z := rng.NormFloat64()
		squares += z * z
	}
	return m.around(math.Sqrt(tails/squares), rng)
}

// logT returns the log density of that distribution at u.
func (m *mode) logT(u []float64) float64 {
	n := float64(len(u))
	above, _ := math.Lgamma((tails + n) / 2)
	below, _ := math.Lgamma(tails / 2.)
	return above - below + n/2*math.Log(2./tails) - m.logVolume - (tails+n)/2*math.Log1p(2*m.nats(u)/tails)
}

// ratiosOf returns the logarithms of the posterior's density at us, where its negative logarithm is
// fs, over the density of the mixture of all rounds (Owen & Zhou, JASA 95 (2000), 135).
func ratiosOf(rounds [][]*mode, us [][]float64, fs []float64) (logs []float64) {
	for i, u := range us {
		var q []float64
		for _, r := range rounds {
			for _, m := range r {
				q = append(q, math.Log(m.share)+m.logT(u))
			}
		}
		logs = append(logs, -fs[i]-floats.LogSumExp(q))
	}
	return logs
}

// weighted returns a distribution with the mean of weighted points. Its covariance is a sum of
// theirs and of a mode's.
func weighted(us [][]float64, weights []float64, of *mode) *mode {
	n := len(of.u)
	m := &mode{u: make([]float64, n), covariance: mat.NewSymDense(n, nil), share: 1}
	for i, u := range us {
		floats.AddScaled(m.u, weights[i], u)
	}
	m.covariance.ScaleSym(shrinkage, of.covariance)
	for i, u := range us {
		d := mat.NewVecDense(n, floats.SubTo(make([]float64, n), u, m.u))
		m.covariance.SymRankOne(m.covariance, (1-shrinkage)*weights[i], d)
	}
	m.factor()
	return m
}

// resampled returns count points in proportion to their weights, by systematic resampling from a
// number between 0 and 1.
func resampled(us [][]float64, weights []float64, count int, from float64) (out [][]float64) {
	sum := 0.0
	for i, u := range us {
		for sum += weights[i] * float64(count); len(out) < count && float64(len(out))+from < sum; {
			out = append(out, u)
		}
	}
	for len(out) < count { // rounding of the sum
		out = append(out, us[len(us)-1])
	}
	return out
}
