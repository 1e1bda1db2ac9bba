package fit

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"gpfit/fit/problem"
	"gpfit/fit/summary"
	"gpfit/hyperopt"
)

// twoWaves is a table of two waves, on which a periodic kernel has many optima. With this seed
// the one to which the start values lead is better than those of the subsets.
func twoWaves() problem.Data {
	const n = 240
	rng := rand.New(rand.NewPCG(38, 7))
	d := problem.Data{N: n, D: 1, FeatureNames: []string{"x"}, TargetName: "y"}
	share := 0.3 + 0.7*rng.Float64()
	slow, fast := 1+20*rng.Float64(), 1+60*rng.Float64()
	noise := math.Exp(-4 + 4*rng.Float64())
	for range n {
		x := rng.Float64()
		y := math.Sin(2*math.Pi*slow*x) + share*math.Sin(2*math.Pi*fast*x) + noise*rng.NormFloat64()
		d.X, d.Y = append(d.X, x), append(d.Y, y)
	}
	return d
}

// TestCoarseAbovePlain checks, on a table where coarse to fine ends above the descent from the
// start values, that the report says that the two were not compared, and that option coarse
// check compares them and keeps the lower end.
func TestCoarseAbovePlain(t *testing.T) {
	fit := func(c hyperopt.Coarse) summary.Report {
		return mustFit(t, twoWaves(), problem.Options{Kernel: "periodic", Settings: hyperopt.Settings{Coarse: c}}).Report
	}
	const line = "a descent from the start values over all rows may end lower (coarse check compares)\n"
	auto, off, check := fit(hyperopt.CoarseAuto), fit(hyperopt.CoarseOff), fit(hyperopt.CoarseCheck)
	if !(auto.NLML > off.NLML+100) {
		t.Fatalf("coarse to fine ends at %v, the plain descent at %v", auto.NLML, off.NLML)
	}
	if auto.Coarse == nil || auto.Coarse.Compared || !strings.Contains(auto.Text(), line) {
		t.Errorf("%+v:\n%s", auto.Coarse, auto.Text())
	}
	if off.Coarse != nil || strings.Contains(off.Text(), line) {
		t.Errorf("coarse off: %+v:\n%s", off.Coarse, off.Text())
	}
	c := check.Coarse
	if check.NLML != off.NLML || c == nil || !c.Compared || *c.Objective != auto.Objective || *c.PlainObjective != off.Objective {
		t.Errorf("check ends at %v, the plain descent at %v: %+v", check.NLML, off.NLML, c)
	}
	if w := strings.Join(check.Warnings, "; "); !strings.Contains(w, "nats above the descent from the start values over all rows, whose end the fit keeps") {
		t.Errorf("warnings %q", w)
	}
	if text := check.Text(); strings.Contains(text, line) || !strings.Contains(text, "coarse to fine ended at 258.6409, the descent from the start values over all rows at 128.7331\n") {
		t.Errorf("%s", text)
	}
}
