package columns

import (
	"math"

	"gpfit/gp"
	"gpfit/internal/rows"
)

// Score holds the scores of predictions against observations of one target, in
// original units.
type Score struct {
	Target string `json:"target"`
	// N counts the rows with an observation.
	N int `json:"n"`
	// RMSE is the root mean squared error of the mean, MAE the mean absolute error.
	RMSE float64 `json:"rmse"`
	MAE  float64 `json:"mae"`
	// NLPD is the mean negative log predictive density of an observation. It is nil
	// without variances and where it is not finite.
	NLPD *float64 `json:"nlpd,omitempty"`
	// Coverage is the share of observations within each interval, by its probability
	// in percent, such as "95".
	Coverage map[string]float64 `json:"coverage,omitempty"`
}

// Scorer adds up the scores of a table piece by piece. The zero value has no rows.
type Scorer struct {
	targets []sums
}

// sums are the sums behind a [Score].
type sums struct {
	n                       int
	squared, absolute, nlpd float64
	inside                  []int
}

// Add adds the rows in, which have observations, with their predictions.
func (s *Scorer) Add(o *Predict, in rows.Rows, parts []TargetColumns) {
	if s.targets == nil {
		s.targets = make([]sums, len(in.Observed))
	}
	for t, observed := range in.Observed {
		one := &s.targets[t]
		if one.inside == nil {
			one.inside = make([]int, len(o.Probabilities))
		}
		for i, y := range observed {
			if !math.IsNaN(y) {
				one.add(o, y, parts[t].Columns, i)
			}
		}
	}
}

// add adds an observation and its prediction, row i of the columns mean and std.
func (s *sums) add(o *Predict, y float64, columns []Column, i int) {
	miss := y - columns[0].Values[i]
	s.n++
	s.squared += miss * miss
	s.absolute += math.Abs(miss)
	if o.MeanOnly {
		return
	}
	std := columns[1].Values[i]
	s.nlpd += 0.5*math.Log(2*math.Pi) + math.Log(std) + 0.5*(miss/std)*(miss/std)
	for k, probability := range o.Probabilities {
		if math.Abs(miss) <= gp.CentralQuantile(probability)*std {
			s.inside[k]++
		}
	}
}

// Scores returns the scores of each target of m. A target without observations has
// none.
func (s *Scorer) Scores(o *Predict, m *gp.Model) []Score {
	var out []Score
	for t, one := range s.targets {
		if one.n == 0 {
			continue
		}
		n := float64(one.n)
		score := Score{Target: m.TargetNames()[t], N: one.n, RMSE: math.Sqrt(one.squared / n), MAE: one.absolute / n}
		if !o.MeanOnly {
			if nlpd := one.nlpd / n; nlpd-nlpd == 0 {
				score.NLPD = &nlpd
			}
			score.Coverage = map[string]float64{}
			for k, probability := range o.Probabilities {
				score.Coverage[Level(probability)] = float64(one.inside[k]) / n
			}
		}
		out = append(out, score)
	}
	return out
}
