package columns

import (
	"math"

	"gpfit/fit/dataset"
	"gpfit/gp"
	"gpfit/internal/score"
)

// Score holds the scores of predictions against observations of one target, in original units.
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
type Scorer struct{ targets []score.Tally }

// Add adds the rows in, which have observations, with their predictions. A row counts as
// covered if its observation is between the bounds that parts has for it.
func (s *Scorer) Add(o *Predict, in dataset.Rows, parts []TargetColumns) {
	if s.targets == nil {
		s.targets = make([]score.Tally, len(in.Observed))
	}
	for t, observed := range in.Observed {
		part := &parts[t]
		mean := part.Values("mean")
		var lower, upper [][]float64
		if part.Prediction != nil {
			for _, p := range o.Probabilities {
				lower, upper = append(lower, part.Values("lower"+Level(p))), append(upper, part.Values("upper"+Level(p)))
			}
		}
		inside := make([]bool, len(lower))
		for i, y := range observed {
			if math.IsNaN(y) {
				continue
			}
			nlpd := 0.0
			if part.Prediction != nil {
				nlpd = part.Prediction.Density(i).NegLog(y)
			}
			for k := range inside {
				inside[k] = lower[k][i] <= y && y <= upper[k][i]
			}
			s.targets[t].Add(y-mean[i], nlpd, inside...)
		}
	}
}

// Scores returns the scores of each target of m. A target without observations has none.
func (s *Scorer) Scores(o *Predict, m *gp.Model) []Score {
	var out []Score
	for t := range s.targets {
		sum := &s.targets[t]
		if sum.N == 0 {
			continue
		}
		one := Score{Target: m.TargetNames()[t], N: sum.N, RMSE: sum.RMSE(), MAE: sum.MAE()}
		if !o.MeanOnly {
			if nlpd := sum.NLPD(); nlpd-nlpd == 0 {
				one.NLPD = &nlpd
			}
			one.Coverage = map[string]float64{}
			for k, probability := range o.Probabilities {
				one.Coverage[Level(probability)] = sum.Coverage(k)
			}
		}
		out = append(out, one)
	}
	return out
}
