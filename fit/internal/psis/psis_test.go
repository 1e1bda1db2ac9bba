package psis

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat/distuv"

	"gpfit/internal/testcheck"
)

// quantiles returns f at (i − ½)/n for i = 1 … n.
func quantiles(n int, f func(u float64) float64) []float64 {
	return testcheck.Slice(n, func(i int) float64 { return f((float64(i) + 0.5) / float64(n)) })
}

// TestReference compares with az.psislw(x, reff=1.0) and arviz.stats.stats._gpdfit of ArviZ 0.23.4,
// which leaves out weights of the grid below 2e-15.
func TestReference(t *testing.T) {
	const tolerance = 1e-9
	for _, c := range []struct {
		name string
		log  func(u float64) float64
		want float64
	}{
		{"Pareto 0.2", func(u float64) float64 { return -0.2 * math.Log(1-u) }, 0.2757741926452836},
		{"Pareto 0.9", func(u float64) float64 { return -0.9 * math.Log(1-u) }, 0.787696363307366},
		{"Pareto 1.5", func(u float64) float64 { return -1.5 * math.Log(1-u) }, 1.226622170336019},
		{"lognormal 0.1", func(u float64) float64 { return 0.1 * distuv.UnitNormal.Quantile(u) }, 0.009343193637341578},
		{"lognormal 2", func(u float64) float64 { return 2 * distuv.UnitNormal.Quantile(u) }, 0.7067509867945618},
		{"squares", func(u float64) float64 { return 0.3 * math.Pow(distuv.UnitNormal.Quantile(u), 2) }, 0.5054977068005192},
	} {
		testcheck.Within(t, K(quantiles(200, c.log)), c.want, tolerance, "k̂ of %s", c.name)
	}
	for k, want := range map[float64]float64{-0.5: -0.3789366983659197, 0.3: 0.32899659821571575, 1: 0.9433839032525803} {
		shape, _ := fit(quantiles(100, func(u float64) float64 { return (math.Pow(1-u, -k) - 1) / k }))
		testcheck.Within(t, shape, want, tolerance, "shape of %v", k)
	}
}

// TestSmoothed compares the first weight, the two at the end of the body and two of the tail with exp of az.psislw(x, reff=1.0).
func TestSmoothed(t *testing.T) {
	at := []int{0, 159, 160, 190, 199}
	for _, c := range []struct {
		name string
		log  func(u float64) float64
		want []float64
	}{
		{"Pareto 0.9", func(u float64) float64 { return -0.9 * math.Log(1-u) }, []float64{0.001070611348522297, 0.004496462043835892, 0.004550077950801549, 0.015820220865976217, 0.16901456464195302}},
		{"lognormal 2", func(u float64) float64 { return 2 * distuv.UnitNormal.Quantile(u) }, []float64{2.9075082238404727e-06, 0.004216722342440306, 0.0043018761347944825, 0.02102080537416258, 0.20572703921189195}},
	} {
		logs := quantiles(200, c.log)
		weights, _ := Smoothed(logs)
		slices.Reverse(logs) // weights stay with their ratios
		reversed, _ := Smoothed(logs)
		for k, i := range at {
			testcheck.Within(t, weights[i], c.want[k], 1e-9, "%s: weight %d", c.name, i)
			testcheck.Within(t, reversed[199-i], c.want[k], 1e-9, "%s reversed: weight %d", c.name, i)
		}
		testcheck.Within(t, floats.Sum(weights), 1, 1e-12, "%s: sum", c.name)
	}
	if weights, k := Smoothed(make([]float64, 50)); k != 0 || weights[7] != 0.02 {
		t.Errorf("equal ratios: weight %v, k̂ %v", weights[7], k)
	}
}

// TestTargets draws from a normal distribution: k̂ is small for a wider proposal of a normal target,
// and above the limit for targets with heavier tails. Ratios of 0 do not count.
func TestTargets(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	draws := testcheck.Slice(2000, func(int) float64 { return rng.NormFloat64() })
	ratio := func(density func(x float64) float64) (out []float64) {
		for _, x := range draws {
			out = append(out, density(x)-distuv.UnitNormal.LogProb(x))
		}
		return out
	}
	if k := K(ratio(distuv.Normal{Sigma: 0.8}.LogProb)); k > 0.1 {
		t.Errorf("k̂ = %v of a narrower normal target", k)
	}
	for name, target := range map[string]func(x float64) float64{"Cauchy": distuv.StudentsT{Sigma: 1, Nu: 1}.LogProb, "wide": distuv.Normal{Sigma: 4}.LogProb} {
		if k := K(ratio(target)); k < MostK {
			t.Errorf("k̂ = %v of a %s target", k, name)
		}
	}
	half := ratio(func(x float64) float64 {
		if x < 0 {
			return math.Inf(-1)
		}
		return distuv.UnitNormal.LogProb(x)
	})
	if k := K(half); k != 0 {
		t.Errorf("k̂ = %v of half a normal target", k)
	}
	if k := K(make([]float64, 100)); k != 0 {
		t.Errorf("k̂ = %v of equal ratios", k)
	}
	if k := K(draws[:20]); !math.IsNaN(k) {
		t.Errorf("k̂ = %v of 20 draws", k)
	}
}
