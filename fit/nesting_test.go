package fit

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gpfit/fit/problem"
	"gpfit/hyperopt"
	"gpfit/internal/testcheck"
)

// nestedTables make row i of n of a table: a trend with cycles, waves of two frequencies, jumps, a
// random walk, an additive surface and one with idle columns.
var nestedTables = map[string]func(rng *rand.Rand, i, n int) ([]float64, float64){
	"season": func(rng *rand.Rand, i, n int) ([]float64, float64) {
		at := 8 * float64(i) / float64(n)
		return []float64{at}, 0.3*at + math.Sin(2*math.Pi*at) + 0.4*math.Cos(4*math.Pi*at) + 0.2*rng.NormFloat64()
	},
	"waves": func(rng *rand.Rand, _, _ int) ([]float64, float64) {
		at := 10 * rng.Float64()
		return []float64{at}, math.Sin(at) + 0.3*math.Sin(9*at) + 0.05*rng.NormFloat64()
	},
	"jumps": func(rng *rand.Rand, _, _ int) ([]float64, float64) {
		at := 6 * rng.Float64()
		return []float64{at}, math.Mod(math.Floor(at), 3) + 0.05*rng.NormFloat64()
	},
	"surface": func(rng *rand.Rand, _, _ int) ([]float64, float64) {
		at := []float64{rng.NormFloat64(), rng.NormFloat64()}
		return at, math.Sin(2*at[0]) + 0.5*at[1]*at[1] + 0.2*rng.NormFloat64()
	},
	"idle": func(rng *rand.Rand, _, _ int) ([]float64, float64) {
		at := []float64{rng.NormFloat64(), rng.NormFloat64(), rng.NormFloat64(), rng.NormFloat64()}
		return at, math.Sin(2*at[0])*at[1] + 0.3*at[2] + 0.2*rng.NormFloat64()
	},
	"drift": func(rng *rand.Rand, i, n int) ([]float64, float64) {
		at := float64(i)
		return []float64{at}, 4*at/float64(n) + math.Sin(2*math.Pi*at/7) + 0.5*rng.NormFloat64()
	},
}

// nestedTerms are the terms of sums for tables of one column and of several.
var nestedTerms = [2][]string{{"rbf", "matern12", "linear", "periodic", "rq"}, {"rbf(ard)", "matern12", "linear", "rbf"}}

// nestedTable returns n rows of a table.
func nestedTable(name string, n int) problem.Data {
	rng := rand.New(rand.NewPCG(uint64(len(name)), 5))
	d := problem.Data{N: n}
	for i := range n {
		x, y := nestedTables[name](rng, i, n)
		d.D, d.X, d.Y = len(x), append(d.X, x...), append(d.Y, y)
	}
	return d
}

// TestNesting checks that no fit of a sum ends above the fit of one of its terms: the sum contains
// it, so that this needs no reference. The long form takes all sums of two terms.
func TestNesting(t *testing.T) {
	const nats = 0.1 // a tenth of what the data could tell
	sums, n := 0, 90
	for _, name := range slices.Sorted(maps.Keys(nestedTables)) {
		d := nestedTable(name, n)
		ends := map[string]float64{}
		end := func(kernel string) float64 {
			if _, ok := ends[kernel]; !ok {
				ends[kernel] = mustFit(t, d, problem.Options{Mean: "zero", Kernel: kernel, NoiseFloor: problem.NoNoiseFloor, Posterior: problem.NoPosterior}).Report.NLML
			}
			return ends[kernel]
		}
		terms := nestedTerms[min(d.D, 2)-1]
		for k, a := range terms {
			for _, b := range terms[:k] {
				if sums++; !testcheck.Long() && sums%9 != 0 {
					continue
				}
				sum := fmt.Sprintf("%s + %s", b, a)
				if above := end(sum) - min(end(a), end(b)); above > nats {
					t.Errorf("%s: %s ends %.2f nats above one of its terms", name, sum, above)
				}
			}
		}
	}
	if sums < 44 {
		t.Errorf("%d sums", sums)
	}
}

// TestMoreRestarts checks that a fit with more restarts never ends higher. The long form takes more
// rows and seeds.
func TestMoreRestarts(t *testing.T) {
	for name, kernel := range map[string]string{"waves": "rbf + periodic", "surface": "rbf(ard) + matern12"} {
		sizes := map[int]uint64{40: 1}
		if testcheck.Long() {
			sizes = map[int]uint64{40: 3, 90: 3, 150: 1}
		}
		for n, seeds := range sizes {
			d := nestedTable(name, n)
			for seed := range seeds {
				before := math.Inf(1)
				for _, restarts := range []int{0, 1, 5, 20} {
					f := mustFit(t, d, problem.Options{Mean: "zero", Kernel: kernel, NoiseFloor: problem.NoNoiseFloor, Posterior: problem.NoPosterior, Settings: hyperopt.Settings{Restarts: restarts, Seed: seed}}).Report.NLML
					if f > before {
						t.Errorf("%s, %d rows, seed %d: %d restarts end at %v, fewer at %v", name, n, seed, restarts, f, before)
					}
					before = f
				}
			}
		}
	}
}
