package score

import "math"

// Tally adds up the scores of predictions, row by row. The zero value has no rows; scores
// of no rows are NaN.
type Tally struct {
	// N is the number of rows.
	N                       int
	squares, absolute, nlpd float64
	inside                  []int
}

// Add adds a row: the observation minus the mean of its prediction, the negative logarithm
// of the predictive density at the observation, and whether each of the intervals of
// interest holds the observation. Every row has the same number of intervals.
func (s *Tally) Add(miss, nlpd float64, inside ...bool) {
	if s.inside == nil {
		s.inside = make([]int, len(inside))
	}
	s.N++
	s.squares += miss * miss
	s.absolute += math.Abs(miss)
	if math.IsInf(nlpd, 1) {
		s.nlpd = nlpd // no density at the observation
	} else {
		s.nlpd += nlpd
	}
	for k, in := range inside {
		if in {
			s.inside[k]++
		}
	}
}

// RMSE returns the root mean squared error of the means, in the unit of the observations.
func (s *Tally) RMSE() float64 { return math.Sqrt(s.squares / float64(s.N)) }

// MAE returns the mean absolute error of the means.
func (s *Tally) MAE() float64 { return s.absolute / float64(s.N) }

// NLPD returns the mean negative log predictive density of an observation.
func (s *Tally) NLPD() float64 { return s.nlpd / float64(s.N) }

// Coverage returns the share of observations in interval k, NaN of none.
func (s *Tally) Coverage(k int) float64 {
	if s.N == 0 {
		return math.NaN()
	}
	return float64(s.inside[k]) / float64(s.N)
}

// Mean returns the mean of values, NaN of none.
func Mean(values []float64) float64 {
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return sum / float64(len(values))
}

// Variance returns the variance of values with their mean estimated, NaN of one value.
func Variance(values []float64) float64 {
	mean, sum := Mean(values), 0.0
	for _, v := range values {
		sum += (v - mean) * (v - mean)
	}
	return sum / float64(len(values)-1)
}

// Deviation returns the standard deviation of values as a whole population, NaN of none.
func Deviation(values []float64) float64 {
	mean, sum := Mean(values), 0.0
	for _, v := range values {
		sum += (v - mean) * (v - mean)
	}
	return math.Sqrt(sum / float64(len(values)))
}

// StdError returns the standard error of the mean of values, 0 of fewer than two.
func StdError(values []float64) float64 {
	if len(values) < 2 {
		return 0
	}
	return math.Sqrt(Variance(values) / float64(len(values)))
}
