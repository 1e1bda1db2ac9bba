package transform

import "math"

// New returns the transform of a family for targets, in units of the targets' spread unless raw:
// then u = y for Yeo & Johnson. λ is the maximum of the likelihood of normal values with one
// mean and one variance (Box & Cox 1964, eq. 8), which does not know the inputs.
func New(k Name, y []float64, raw bool) *Map {
	t := &Map{Kind: k, Unit: 1}
	n := float64(len(y))
	if k.Positive() {
		sum := 0.0
		for _, v := range y {
			sum += math.Log(v) / n
		}
		t.Unit = math.Exp(sum)
	} else if !raw {
		t.Shift, t.Unit = Spread(y)
	}
	if !k.Tuned() {
		return t
	}
	logs := make([]float64, len(y))
	for i, v := range y {
		logs[i] = t.Coordinate(v)
	}
	t.Lambda = likeliest(k, logs)
	return t
}

// Spread returns the mean and the population standard deviation, 1 in place of 0.
func Spread(y []float64) (mean, std float64) {
	n, sum := float64(len(y)), 0.0
	for _, v := range y {
		mean += v / n
	}
	for _, v := range y {
		sum += (v - mean) * (v - mean) / n
	}
	if sum == 0 {
		return mean, 1
	}
	return mean, math.Sqrt(sum)
}

// likeliest returns λ for coordinates ℓ. The likelihood is smooth; the best of a grid begins a
// search by golden sections.
func likeliest(k Name, logs []float64) float64 {
	values, sum := make([]float64, len(logs)), 0.0
	for _, l := range logs {
		sum += l
	}
	cost := func(lambda float64) float64 {
		for i, l := range logs {
			values[i] = Value(k, lambda, l)
		}
		_, std := Spread(values)
		return float64(len(logs))*math.Log(std) - (lambda-1)*sum
	}
	const step = 0.1
	best := 0.0
	for i := range int((HighestLambda-LowestLambda)/step) + 1 {
		if at := LowestLambda + step*float64(i); cost(at) < cost(best) {
			best = at
		}
	}
	low, high := max(best-step, LowestLambda), min(best+step, HighestLambda)
	golden := (math.Sqrt(5) - 1) / 2
	for high-low > 1e-7 { // half the digits of a minimum
		a, b := high-golden*(high-low), low+golden*(high-low)
		if cost(a) < cost(b) {
			high = b
		} else {
			low = a
		}
	}
	for _, at := range []float64{LowestLambda, HighestLambda} {
		if cost(at) <= cost((low+high)/2) {
			return at
		}
	}
	return (low + high) / 2
}
