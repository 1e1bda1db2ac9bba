package speed

import (
	"fmt"
	"math"
	"math/rand/v2"

	"gpfit/device"
	"gpfit/fit/problem"
	"gpfit/gp"
	"gpfit/internal/hostmem"
)

// SyntheticText describes the data from [Synthetic], for the header of results.
const SyntheticText = "x ~ N(0, 1), y = sin(2 x0) + sum_c cos(x_c + c)/sqrt(d) + 0.1 N(0, 1)"

// Synthetic returns a random table of n rows and d columns (see [SyntheticText]).
// With the same seed, a shorter table is the beginning of a longer one.
func Synthetic(n, d int, seed uint64) problem.Data {
	rng := rand.New(rand.NewPCG(seed, 0))
	data := problem.Data{X: make([]float64, n*d), Y: make([]float64, n), N: n, D: d, TargetName: "y"}
	for c := range d {
		data.FeatureNames = append(data.FeatureNames, fmt.Sprintf("x%d", c))
	}
	for i := range n {
		row := data.X[i*d : (i+1)*d]
		sum := 0.0
		for c := range row {
			row[c] = rng.NormFloat64()
			sum += math.Cos(row[c] + float64(c))
		}
		data.Y[i] = math.Sin(2*row[0]) + sum/math.Sqrt(float64(d)) + 0.1*rng.NormFloat64()
	}
	return data
}

// CheckSize returns a [*gp.SizeError] if a table and its copies do not fit in
// memory, or if it has more rows than any exact fit can have.
func CheckSize(n, d int) error {
	free := hostmem.Free()
	need := 8 * 4 * float64(n) * float64(d)
	if most := (device.Dense{}).MaxRows(free); n > most {
		need = max(need, 8*float64(n)*float64(n))
	}
	if free > 0 && need > float64(free) {
		return &gp.SizeError{What: fmt.Sprintf("a measurement of %d rows and %d columns", n, d), Need: int64(min(need, math.MaxInt64/2)), Free: free}
	}
	return nil
}

// FirstRows returns the table of the first n rows of data, which must have at least
// n rows. It copies nothing.
func FirstRows(data problem.Data, n int) problem.Data {
	data.X, data.Y, data.N = data.X[:n*data.D], data.Y[:n], n
	return data
}
