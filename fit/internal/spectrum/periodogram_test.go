package spectrum

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"gonum.org/v1/gonum/mat"

	"gpfit/internal/testcheck"
)

// TestPeriodogram checks that the highest peak is the period of a wave under a trend, on
// even and on random points, to a tenth of a turn over the range.
func TestPeriodogram(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 9))
	for name, f := range map[string]func(i int) float64{
		"even":   func(i int) float64 { return float64(i) / 12 },
		"random": func(int) float64 { return 25 * rng.Float64() },
	} {
		x, y := make([]float64, 300), make([]float64, 300)
		for i := range x {
			x[i] = f(i)
			y[i] = 0.02*x[i]*x[i] + math.Sin(2*math.Pi*x[i]/0.73) + 0.3*rng.NormFloat64()
		}
		peaks := Peaks(x, y)
		// The width of a peak is one turn over the range of 25, a quarter of which is the step.
		if len(peaks) == 0 || math.Abs(25/peaks[0].Period-25/0.73) > 0.25 {
			t.Errorf("%s: peaks %+v", name, peaks)
		}
	}
	if p := Peaks([]float64{1, 1, 1}, []float64{1, 2, 3}); p != nil {
		t.Errorf("a constant column has periods %v", p)
	}
}

// TestRegular checks which columns are regular: months and weeks, also with a third of the rows missing
// and with one long gap, but neither random values nor a few levels.
func TestRegular(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	month := func(i int) float64 {
		return float64(time.Date(1990, time.Month(1+i), 1, 0, 0, 0, 0, time.UTC).Unix()) / 86400
	}
	for name, c := range map[string]struct {
		at     func(i int) float64
		kept   float64
		wanted bool
	}{
		"months":          {month, 1, true},
		"some months":     {month, 0.65, true},
		"months in years": {func(i int) float64 { return month(i) / 365.25 }, 0.75, true},
		"weeks with a gap": {func(i int) float64 {
			if i > 100 {
				i += 300
			}
			return float64(7 * i)
		}, 0.8, true},
		"random": {func(int) float64 { return rng.Float64() }, 1, false},
		"normal": {func(int) float64 { return rng.NormFloat64() }, 0.7, false},
		"levels": {func(i int) float64 { return float64(i % 12) }, 1, false},
	} {
		var values []float64
		for i := range 200 {
			if v := c.at(i); rng.Float64() < c.kept {
				values = append(values, v)
			}
		}
		rng.Shuffle(len(values), func(i, k int) { values[i], values[k] = values[k], values[i] })
		if got := Regular(values); got != c.wanted {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestWavePowers compares the powers of waves with least squares at each frequency.
func TestWavePowers(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	x, y := make([]float64, 60), make([]float64, 60)
	for i := range x {
		x[i], y[i] = 1000+rng.Float64()*7, rng.NormFloat64()
	}
	const first, step, count = 0.2, 0.05, 300
	for k, got := range wavePowers(x, [][]float64{y, y}, first, step, count) {
		design, target := mat.NewDense(len(x), 2, nil), mat.NewVecDense(len(x), y)
		for i, v := range x {
			sin, cos := math.Sincos(2 * math.Pi * (first + float64(k)*step) * v)
			design.SetRow(i, []float64{cos, sin})
		}
		var b, r mat.VecDense
		testcheck.Do(t, b.SolveVec(design, target))
		r.MulVec(design, &b)
		r.SubVec(target, &r)
		// Angles of up to 70,000 turn by 300 a step, and each rounding error counts 32 times.
		testcheck.Within(t, got, 2*(mat.Dot(target, target)-mat.Dot(&r, &r)), 1e-9, "frequency %d", k)
	}
}
