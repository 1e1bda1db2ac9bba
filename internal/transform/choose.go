package transform

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"gpfit/internal/each"
)

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
	logs := each.Of(y, t.Coordinate)
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

// ManySkewed is the skewness by deciles of a gamma distribution whose moments have a skewness of 1.
const ManySkewed = 0.22

// Skewness returns Kelly's coefficient, of the deciles, which single values far off do not change.
func Skewness(y []float64) float64 {
	v := slices.Sorted(slices.Values(y))
	low, middle, high := v[len(v)/10], v[len(v)/2], v[len(v)-1-len(v)/10]
	return (high - 2*middle + low) / max(high-low, math.SmallestNonzeroFloat64)
}

// OfColumn returns log(1 + x/u) for a column with a long right tail, and its mirror image for one with a long left tail; nil for
// others, and for fewer than 6 different values. With u a quarter of a small value it is the logarithm of most; as Yeo & Johnson's
// transform it takes all numbers.
func OfColumn(x []float64) *Map {
	v, skewness := slices.Sorted(slices.Values(x)), Skewness(x)
	if len(slices.Compact(slices.Clone(v))) < 6 || math.Abs(skewness) <= ManySkewed {
		return nil
	}
	t := &Map{Kind: YeoJohnson, Shift: min(0, v[0])}
	if skewness < 0 {
		t.Lambda, t.Shift = 2, max(0, v[len(v)-1])
	}
	v = slices.DeleteFunc(v, func(x float64) bool { return x == t.Shift })
	for i, x := range v {
		v[i] = math.Abs(x - t.Shift)
	}
	slices.Sort(v)
	t.Unit = v[len(v)/20] / 4
	return t
}

// Tail says which transform [OfColumn] returned.
func (t *Map) Tail() string {
	if t.Lambda > 0 {
		return fmt.Sprintf("−log(1 + (%.3g − x)/%.3g)", t.Shift, t.Unit)
	}
	return strings.Replace(fmt.Sprintf("log(1 + (x − %.3g)/%.3g)", t.Shift, t.Unit), "(x − 0)", "x", 1)
}
