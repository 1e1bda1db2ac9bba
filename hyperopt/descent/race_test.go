package descent

import (
	"context"
	"errors"
	"math"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"gpfit/internal/testcheck"
)

// The positions and depths of the wells of TestRace.
var (
	wellAt    = [][]float64{{0, 0, 0, 0}, {12, 0, 0, 0}, {0, 12, 0, 0}, {12, 12, 12, 0}}
	wellDepth = []float64{-4, 0, 9, 60}
)

// wells is −log Σ exp(−E) of paraboloids E that are steep in some directions and
// of fourth order in one: minima at wellAt, with values of wellDepth up to
// e^−30 or so, that take tens of iterations to find.
func wells(z, grad []float64) float64 {
	curvature := []float64{0.5, 7, 60, 3}
	energy := make([]float64, len(wellAt))
	for k, c := range wellAt {
		energy[k] = wellDepth[k]
		for i, w := range curvature {
			d := z[i] - c[i]
			energy[k] += w*d*d/2 + 0.3*w*d*d*d*d/24
		}
	}
	low, sum := slices.Min(energy), 0.0
	for _, e := range energy {
		sum += math.Exp(low - e)
	}
	if grad != nil {
		clear(grad)
		for k, c := range wellAt {
			share := math.Exp(low-energy[k]) / sum
			for i, w := range curvature {
				d := z[i] - c[i]
				grad[i] += share * (w*d + 0.3*w*d*d*d/6)
			}
		}
	}
	return low - math.Log(sum)
}

// raceStarts returns three starts in every well, and the wells of the starts.
func raceStarts() (p arrays, well []int) {
	p.Further = []Start{}
	for round := range 3 {
		for k, c := range wellAt {
			z := slices.Clone(c)
			for i := range z {
				z[i] += 2.5 * math.Sin(float64(7*round+3*i+k)+1)
			}
			well = append(well, k)
			if p.Start == nil {
				p.Start = z
			} else {
				p.Further = append(p.Further, Start{Z: z})
			}
		}
	}
	p.Objective = total(wells)
	return p, well
}

func TestWellsGradient(t *testing.T) {
	p, _ := raceStarts()
	checkSlopes(t, wells, p.Start, 1e-6)
}

// TestRace checks that within reach every minimum is found once and other starts in
// its well merge with it, and that beyond reach starts are dropped and reported.
func TestRace(t *testing.T) {
	p, well := raceStarts()
	all := mustMinimize(t, p, how{})
	for _, c := range []struct {
		reach float64
		found int // number of wells, the deepest ones
	}{{100, 4}, {20, 3}, {6, 2}, {0, 1}} {
		r := mustMinimize(t, p, how{Race: true, Reach: c.reach})
		if math.Abs(r.F-all.F) > 1e-8 || well[r.BestStart] != 0 || !r.Status.Converged() {
			t.Fatalf("reach %g: F = %v, every start to its end %v", c.reach, r.F, all.F)
		}
		if r.Evaluations.Gradient >= all.Evaluations.Gradient || c.reach == 0 && r.Evaluations.Gradient > all.Evaluations.Gradient*3/5 {
			t.Errorf("reach %g: %+v, every start to its end %+v", c.reach, r.Evaluations, all.Evaluations)
		}
		ends, merged := make([]int, len(wellAt)), 0
		for k, s := range r.Starts {
			switch {
			case s.Status == StatusMerged:
				merged++
				if into := r.Starts[s.MergedInto]; well[s.MergedInto] != well[k] || s.F < into.F-rounding(into.F) {
					t.Errorf("reach %g: start %d of well %d, at %v, merged into %d of well %d, at %v", c.reach, k, well[k], s.F, s.MergedInto, well[s.MergedInto], into.F)
				}
			case s.Status == StatusDropped:
				if well[k] < c.found {
					t.Errorf("reach %g: start %d of well %d dropped at %v", c.reach, k, well[k], s.F)
				}
			case s.Status.Converged():
				ends[well[k]]++
				if math.Abs(s.F-wellDepth[well[k]]) > 1e-6 {
					t.Errorf("reach %g: start %d of well %d ended at %v", c.reach, k, well[k], s.F)
				}
			default:
				t.Errorf("reach %g: start %d: %v, %v", c.reach, k, s.Status, s.Err)
			}
		}
		if merged == 0 {
			t.Errorf("reach %g: no start merged", c.reach)
		}
		for k, n := range ends {
			if k < c.found && n == 0 {
				t.Errorf("reach %g: no end in well %d", c.reach, k)
			}
		}
	}
}

// TestRaceEnds checks that the events that end a run also end a race, with the results so far.
func TestRaceEnds(t *testing.T) {
	p, _ := raceStarts()
	for _, after := range []int{0, 1, 5, 14, 40, 90} {
		r, low, err := stoppedAfter(p, wells, how{Race: true}, after, nil)
		if !errors.Is(err, context.Canceled) || r.Status != StatusCancelled || (after > 0) != (r.X != nil) {
			t.Fatalf("after %d: %+v, %v", after, r, err)
		}
		if r.F > low+rounding(low) {
			t.Errorf("after %d: F = %v, lowest evaluated %v", after, r.F, low)
		}
	}
	// A start at which f is not defined leaves the race to the others.
	p.Objective = &smooth{f: func(z, g []float64) (float64, error) {
		if slices.Equal(z, p.Start) {
			return 0, &notPD{1, 5}
		}
		return wells(z, g), nil
	}}
	if r := mustMinimize(t, p, how{Race: true}); r.Starts[0].Status != StatusFailed || math.Abs(r.F-wellDepth[0]) > 1e-6 {
		t.Errorf("start 0 %+v, F = %v", r.Starts[0], r.F)
	}
}

// TestPromised checks that with the Hessian of a quadratic function as metric, the promised
// decrease is the decrease to the minimum over the parameters that can move.
func TestPromised(t *testing.T) {
	h := Metric{7, 1, 0.5, 1, 5, -1, 0.5, -1, 4}
	f := func(z, grad []float64) float64 {
		copy(grad, []float64{dot(h[:3], z), dot(h[3:6], z), dot(h[6:], z)})
		return h.Nats(make([]float64, 3), z)
	}
	for _, c := range []struct {
		fixed []bool
		want  float64
	}{
		{nil, f([]float64{1, -2, 3}, nil)},
		// With z₂ fixed at 3 the rest is ½gᵀH₂⁻¹g of the leading block of two.
		{[]bool{false, false, true}, (5*6.5*6.5 + 2*6.5*12 + 7*12*12) / 34 / 2},
	} {
		r := testcheck.Get(newRun(arrays{Objective: total(f), Start: []float64{1, -2, 3}, Metric: h, Fixed: c.fixed}.problem(how{}), Options{}))(t)
		got := math.NaN()
		r.descent(0, r.objectives[0], func(d *descent) {
			if math.IsNaN(got) {
				got = d.promised()
			}
		}).run(t.Context())
		if math.Abs(got-c.want) > 1e-9 {
			t.Errorf("fixed %v: promised %v, want %v", c.fixed, got, c.want)
		}
	}
}

// waves has many local minima; each instance counts its evaluations and fails after limit of them.
type waves struct {
	calls atomic.Int64
	limit int64
	// broke, unless nil, is closed when the limit is reached. The first value waits for wait.
	broke, wait chan struct{}
}

var errBroken = errors.New("broken")

func (w *waves) Value(ctx context.Context, z []float64) (float64, error) {
	if n := w.calls.Add(1); w.limit > 0 && n > w.limit {
		close(w.broke)
		return 0, errBroken
	}
	if w.wait != nil {
		<-w.wait
	}
	sum := 0.0
	for _, x := range z {
		sum += x*x/20 + math.Sin(3*x)
	}
	return sum, ctx.Err()
}

func (w *waves) ValueGradient(ctx context.Context, z, grad []float64) (float64, error) {
	for i, x := range z {
		grad[i] = x/10 + 3*math.Cos(3*x)
	}
	return w.Value(ctx, z)
}

// TestWorkers checks that starts on several objectives have the bits of starts on one.
func TestWorkers(t *testing.T) {
	for _, race := range []bool{false, true} {
		settings := how{Restarts: 11, Seed: 5, RestartStd: 3, Race: race}
		start := []float64{0.3, -2}
		serial := testcheck.Get(minimizeArrays(t.Context(), arrays{Objective: &waves{}, Start: start}, settings))(t)
		ended := !slices.ContainsFunc(serial.Starts, func(s StartResult) bool { return !s.Status.Converged() })
		if race && ended {
			t.Error("every start ran to its end")
		}
		for range 5 {
			last, calls := Iteration{Best: math.Inf(1)}, 0
			settings.Callback = func(it Iteration) { last, calls = it, calls+1 }
			got := testcheck.Get(minimizeArrays(t.Context(), arrays{Objective: &waves{}, Workers: []Func{&waves{}, &waves{}}, Start: start}, settings))(t)
			if diff := cmp.Diff(serial, got, cmpopts.EquateNaNs()); diff != "" {
				t.Fatalf("race %v, with three workers:\n%s", race, diff)
			}
			if !race && calls < 24 || last.Best > serial.F+1e-9 || last.Total.Value > serial.Evaluations.Value {
				t.Errorf("race %v: %d callbacks, last %+v", race, calls, last)
			}
		}
	}
}

// TestBrokenWorker checks that a failing objective ends the run with its error.
func TestBrokenWorker(t *testing.T) {
	for _, race := range []bool{false, true} {
		broke := make(chan struct{})
		good, bad := &waves{wait: broke}, &waves{limit: 7, broke: broke}
		r, err := minimizeArrays(t.Context(), arrays{Objective: good, Workers: []Func{bad}, Start: []float64{0.3, -2}},
			how{Restarts: 40, Seed: 5, RestartStd: 3, Race: race})
		if !errors.Is(err, errBroken) || !race && r.X == nil || r.Status != StatusFailed {
			t.Errorf("race %v: status %v, best %v, error %v", race, r.Status, r.X, err)
		}
	}
}
