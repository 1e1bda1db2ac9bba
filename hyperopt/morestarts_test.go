package hyperopt

import (
	"context"
	"math"
	"slices"
	"strings"
	"testing"

	"gpfit/hyperopt/descent"
	"gpfit/internal/testcheck"
)

// shaped is a table with one parameter and an objective that may depend on the number of rows.
type shaped struct {
	table
	start float64
	f     func(rows int, x float64) (f, slope float64)
}

func (p *shaped) Parameters() []descent.Parameter {
	return []descent.Parameter{{Name: "a", Group: "a", Start: p.start, Lower: -8, Upper: 8}}
}
func (p *shaped) Limits([]float64) []float64 { return []float64{math.Inf(1)} }

func (p *shaped) Open(ctx context.Context, worker int, rows []int) (Session, error) {
	s, err := p.table.Open(ctx, worker, rows)
	if err != nil {
		return nil, err
	}
	return shapedPart{s.(*part), p.f}, nil
}

type shapedPart struct {
	*part
	f func(rows int, x float64) (f, slope float64)
}

func (s shapedPart) Value(_ context.Context, z []float64) (float64, error) {
	if s.all {
		s.full.Add(1)
	}
	f, _ := s.f(len(s.rows), z[0])
	return f, nil
}

func (s shapedPart) ValueGradient(_ context.Context, z, g []float64) (f float64, err error) {
	f, g[0] = s.f(len(s.rows), z[0])
	return f, nil
}

// misleading is a table whose subsets draw every start to the worse of two optima: over all
// rows z₀ has minima near −2 and, lower, near 2, and the start values are on the slope to 2.
func misleading(rows int) *shaped {
	return &shaped{table{n: rows}, 0.5, func(m int, x float64) (f, slope float64) {
		n := float64(m)
		if m < rows {
			return n * (x + 2) * (x + 2) / 2, n * (x + 2)
		}
		return n * ((x*x-4)*(x*x-4)/4 - x/10), n * (x*(x*x-4) - 0.1)
	}}
}

func tuneMisled(t *testing.T, n int, s Settings) (*Result, int64) {
	t.Helper()
	p := misleading(n)
	r := testcheck.Get(Tune(t.Context(), p, s, nil))(t)
	if int64(r.FullSize.Value) != p.full.Load() {
		t.Errorf("%+v evaluations over all rows, the objective counts %d", r.FullSize, p.full.Load())
	}
	return r, p.full.Load()
}

// TestCoarseCheck checks on subsets that mislead that CoarseCheck ends at the lower optimum,
// with the bits of the descent from the start values alone, and says so; and that CoarseAuto
// says that the two were not compared.
func TestCoarseCheck(t *testing.T) {
	const n = 2100
	coarse, few := tuneMisled(t, n, Settings{})
	off, _ := tuneMisled(t, n, Settings{Coarse: CoarseOff})
	check, more := tuneMisled(t, n, Settings{Coarse: CoarseCheck})
	if !(coarse.X[0] < 0 && off.X[0] > 0) {
		t.Fatalf("coarse to fine ends at %v, the plain descent at %v", coarse.X, off.X)
	}
	if !coarse.Subsets || coarse.Plain != nil || off.Subsets || len(coarse.Warnings) > 0 {
		t.Errorf("coarse to fine %+v, plain %+v", coarse, off)
	}
	if check.F != off.F || !slices.Equal(check.X, off.X) || check.Plain == nil || *check.Plain != (PlainDescent{coarse.F, off.F}) {
		t.Errorf("check ends at %v, %v, plain at %v, %v: %+v", check.X, check.F, off.X, off.F, check.Plain)
	}
	if w := strings.Join(check.Warnings, "; "); !strings.Contains(w, "ended 8.4e+02 nats above the descent from the start values over all rows, whose end the fit keeps") {
		t.Errorf("warnings %q", w)
	}
	if last := check.Path[len(check.Path)-1]; last.Step != "plain" || last.F != off.F || more != few+int64(off.FullSize.Value) {
		t.Errorf("%+v; %d values, %d and %d", last, more, few, off.FullSize.Value)
	}
}

// TestCoarseCheckAgrees checks that CoarseCheck is silent where the two agree, that with
// restarts the optima count its descent, and that without subsets there is nothing to do.
func TestCoarseCheckAgrees(t *testing.T) {
	for _, c := range []struct {
		n, restarts int
		compared    bool
	}{{2100, 0, true}, {2100, 2, true}, {40, 2, false}, {40, 0, false}} {
		auto := tune(t, &table{n: c.n}, Settings{Restarts: c.restarts})
		check := tune(t, &table{n: c.n}, Settings{Restarts: c.restarts, Coarse: CoarseCheck})
		if (check.Plain != nil) != c.compared || auto.Subsets != c.compared || len(check.Warnings) > 0 || check.F > auto.F {
			t.Errorf("%+v: auto %v, check %v, %+v, warnings %q", c, auto.F, check.F, check.Plain, check.Warnings)
		}
		starts := func(r *Result) int { v := NewCoverage(r); return v.Starts + v.Stopped }
		if c.restarts > 0 && c.compared && starts(check) != starts(auto)+1 {
			t.Errorf("%d and %d starts", starts(auto), starts(check))
		}
	}
}

// TestRacedPlain checks that the descent from the start values that a race over all rows
// stopped runs to its end with CoarseCheck, and that it is not made twice otherwise.
func TestRacedPlain(t *testing.T) {
	for name, c := range map[string]struct {
		starts  [][]float64
		stopped bool
	}{
		"stopped": {[][]float64{{0, 3, 0.25}}, true},
		"ended":   {[][]float64{{60, -7, 0.25}}, false},
	} {
		auto := tune(t, &table{n: 600, starts: c.starts}, Settings{})
		check := tune(t, &table{n: 600, starts: c.starts}, Settings{Coarse: CoarseCheck})
		if auto.Subsets != c.stopped || (check.Plain != nil) != c.stopped || slices.Contains(steps(check), "plain") != c.stopped {
			t.Errorf("%s: subsets %v, %+v, steps %q", name, auto.Subsets, check.Plain, steps(check))
		}
	}
}

// pit has two equal optima at ±1 and, between them, a pit at 0 that no descent meets.
func pit(_ int, x float64) (f, slope float64) {
	const depth, width = 9, 0.05
	hole := depth * math.Exp(-x*x/(2*width*width))
	return (x*x-1)*(x*x-1) - hole, 4*x*(x*x-1) + hole*x/(width*width)
}

// TestLower checks that a fit descends from a point that it met below its end.
func TestLower(t *testing.T) {
	p := &shaped{table{n: 100, starts: [][]float64{{-1.2}}}, 1.2, pit}
	r := testcheck.Get(Tune(t.Context(), p, Settings{Restarts: 1, Coarse: CoarseOff}, nil))(t)
	if math.Abs(r.X[0]) > 1e-3 || !(r.F < -7.9) || len(r.Optima) == 0 || r.Optima[0].F != r.F || r.BestStart != 2 {
		t.Errorf("ends at %v, %v: optima %+v", r.X, r.F, r.Optima)
	}
	if last := r.Path[len(r.Path)-1]; last.Step != "lower" || last.F != r.F || int64(r.FullSize.Value) != p.full.Load() {
		t.Errorf("path %+v; %d values, the objective counts %d", r.Path, r.FullSize.Value, p.full.Load())
	}
}

// TestAlternatives checks that the tuning descends from an alternative to the best end that is
// near or, after a descent on few rows, far; that it goes on from the better end to that one's
// alternatives; that it counts all evaluations; and that it leaves hopeless alternatives alone.
func TestAlternatives(t *testing.T) {
	near, far := []float64{0.02, 2.99, 0.25}, []float64{1.5, 3.2, 0.25}
	for _, c := range []struct {
		name      string
		near, far [][]float64
		want      float64 // the end of z₁
	}{
		{"none", nil, nil, -2},
		{"near", [][]float64{near}, nil, 3},
		{"far", nil, [][]float64{far}, 3},
		{"hopeless", [][]float64{far}, nil, -2},
	} {
		p := &table{n: 400, alternatives: c.near, far: c.far, starts: [][]float64{{3, -2.2, 0.25}}}
		r := tune(t, p, Settings{})
		if math.Abs(r.X[1]-c.want) > 0.5 || slices.Contains(steps(r), "alternatives") != (c.name != "none") {
			t.Errorf("%s: ends at %v, path %+v", c.name, r.X, r.Path)
		}
		if int64(r.FullSize.Value) != p.full.Load() {
			t.Errorf("%s: %+v evaluations over all rows, the objective counts %d", c.name, r.FullSize, p.full.Load())
		}
	}
}

// TestBeyond checks that the line from one end through a better one is followed while values fall.
func TestBeyond(t *testing.T) {
	p := &table{n: 10}
	u := &finals{tuner: &tuner{problem: p, params: p.Parameters(), plan: plan{rows: p.n}, result: &Result{}}}
	o := testcheck.Get(p.Open(t.Context(), 0, nil))(t)
	defer o.Close()
	ev := descent.NewOracle(o, nil)
	end := func(z float64) descent.StartResult {
		x := []float64{z, -2, 0.25}
		return descent.StartResult{X: x, F: testcheck.Get(ev.Value(t.Context(), x))(t)}
	}
	u.result.Starts = []descent.StartResult{end(9), end(4), end(3)}
	u.result.StartResult = u.result.Starts[2]
	for range 2 { // steps of 0.2, 0.4 … 3.2 times the distance from the next end; 6.4 is too far
		c := testcheck.Get(u.lowestBeyond(t.Context(), ev))(t)
		if math.Abs(c.Z[0]+0.2) > 1e-12 || c.F != end(c.Z[0]).F || c.Z[1] != -2 {
			t.Errorf("%+v", c)
		}
		u.result.Starts = append(u.result.Starts, descent.StartResult{F: -1}) // without a point
	}
	u.result.Starts = u.result.Starts[2:]
	if c := testcheck.Get(u.lowestBeyond(t.Context(), ev))(t); c.F != u.result.F || c.Z[0] != 3 {
		t.Errorf("without another end %+v", c)
	}
}

// TestScreenedStarts checks that a start that is not near the best end, but leads to a
// better one, passes the comparison on fewer rows, and that each start is counted, the given one twice.
func TestScreenedStarts(t *testing.T) {
	for _, workers := range []int{1, 3} {
		p := &table{n: 400, workers: workers, starts: [][]float64{{0, -2, 0.25}, {1, -2.5, 0.25}, {2, -3, 0.25}, {40, -3, 0.25}, {60, 7, 0.25}}}
		r := tune(t, p, Settings{})
		total := 0
		for _, o := range r.Optima {
			total += o.Starts
		}
		if math.Abs(r.X[1]-3) > 0.5 || total != 7 || !slices.Contains(steps(r), "screen") {
			t.Errorf("%d workers: %d starts end at %v by %q", workers, total, r.X, steps(r))
		}
	}
}

// TestCoverage checks the counts, the distance of the next optimum and the rows of the comparison.
func TestCoverage(t *testing.T) {
	none, two := math.Inf(1), []Optimum{{F: 1, Starts: 3}, {F: 3.5, Starts: 2}, {F: 2, Starts: 9, Dropped: true}}
	half, all := Stage{Step: "descent", Rows: 50, Starts: 8}, Stage{Step: "descent", Rows: 100, Starts: 1}
	for i, c := range []struct {
		r    Result
		want Coverage
	}{
		{Result{}, Coverage{Next: none}},
		{Result{Optima: []Optimum{{Starts: 1}}, Path: []Stage{half, all}}, Coverage{Starts: 1, Best: 1, Next: none}},
		{Result{Optima: two, Path: []Stage{half, {Step: "descent", Rows: 70, Starts: 1}, {Step: "hessian", Rows: 50}, all, {Step: "alternatives", Rows: 100, Starts: 1}}}, Coverage{5, 3, 9, 2.5, 50}},
		{Result{Optima: two, Path: []Stage{half, all, {Step: "plain", Rows: 100, Starts: 1}}}, Coverage{5, 3, 9, 2.5, 0}},
		{Result{Optima: []Optimum{{Starts: 2}, {Starts: 4, Dropped: true, Rows: 50}}, Path: []Stage{half, all}}, Coverage{2, 2, 4, none, 50}},
	} {
		if got := NewCoverage(&c.r); got != c.want {
			t.Errorf("%d: %+v, want %+v", i, got, c.want)
		}
	}
}

// TestSpent checks that joining adds what starts took.
func TestSpent(t *testing.T) {
	a := candidate{Optimum: Optimum{Starts: 1, Drawn: 1, Evaluations: descent.Evaluations{Value: 3, Gradient: 2}}}
	a.join(candidate{Optimum: Optimum{Starts: 2, Evaluations: descent.Evaluations{Value: 5, Gradient: 1, Infeasible: 1}}})
	if a.Starts != 3 || a.Drawn != 1 || a.Evaluations != (descent.Evaluations{Value: 8, Gradient: 3, Infeasible: 1}) {
		t.Errorf("%+v", a)
	}
}

// TestStarts checks that starts are reproducible and within the bounds, that more of them
// only add to the first, that suggested ones come first, and that fixed parameters stay.
func TestStarts(t *testing.T) {
	inf := math.Inf(1)
	p := []descent.Parameter{
		{Name: "l[0]", Group: "l", Lower: -9, Upper: 9}, {Name: "l[1]", Group: "l", Start: 1, Lower: -9, Upper: 9},
		{Name: "noise", Group: "noise", Start: -2, Lower: -3, Upper: 9}, {Name: "fixed", Group: "fixed", Start: 5, Lower: -inf, Upper: inf, Fixed: true},
		{Name: "size", Group: "size", Lower: -inf, Upper: inf},
	}
	suggested := [][]float64{{-4, -3, -3, 5, 0}, {2, 3, 1, 5, 0}}
	a, fewer, other := starts(p, suggested, 3, 200), starts(p, suggested, 3, 20), starts(p, suggested, 4, 200)
	if !slices.Equal(a[0], []float64{0, 1, -2, 5, 0}) || !slices.Equal(a[2], suggested[1]) {
		t.Fatalf("first %v", a[:3])
	}
	if len(a) != 200 || len(starts(p, suggested, 3, 2)) != 2 {
		t.Fatalf("%d starts", len(a))
	}
	below, short := 0, 0
	for k, z := range a[3:] {
		if k+3 < len(fewer) && !slices.Equal(z, fewer[k+3]) {
			t.Errorf("start %d is %v of 200 and %v of 20", k+3, z, fewer[k+3])
		}
		if slices.Equal(z, other[k+3]) {
			t.Errorf("start %d is the same for two seeds: %v", k+3, z)
		}
		if z[3] != 5 || z[2] < -3 || z[2] > 1 || math.Abs(z[0]) > 9 {
			t.Errorf("start %d: %v", k+3, z)
		}
		if z[2] < -1 {
			below++
		}
		if z[0] < -1 && z[1] < 0 {
			short++
		}
	}
	// The noise is uniform over [−3, 1]: half of 197 within the discrepancy of the
	// sequence. The lengthscales share a shift: more than a quarter are short together.
	if below < 90 || below > 107 || short < 60 {
		t.Errorf("of 197 starts %d have little noise and %d short lengthscales", below, short)
	}
}

// TestKronecker checks that each tenth of every dimension has its share of the first n points.
func TestKronecker(t *testing.T) {
	for _, d := range []int{1, 2, 7, 20} {
		points := kronecker(d, 5, 1000)
		for j := range d {
			var counts [10]int
			for _, u := range points {
				counts[int(10*u[j])]++
			}
			for k, c := range counts {
				// A half too many or too few is seven standard deviations of independent draws.
				if c < 67 || c > 133 {
					t.Errorf("dimension %d of %d: %d of 1000 points in tenth %d", j, d, c, k)
				}
			}
		}
	}
}

// TestOrder checks that subsets are nested, ascending, and hold whole groups.
func TestOrder(t *testing.T) {
	labels := []int{0, 1, 0, 2, 3, 3, 3, 4, 5, 1}
	u := &tuner{plan: plan{rows: len(labels)}, groups: grouped(labels)}
	for stream := range uint64(20) {
		o := u.order(stream)
		var last []int
		for m := 1; m <= len(labels); m++ {
			rows := o.first(m)
			if len(rows) < m || len(rows) > m+2 || !slices.IsSorted(rows) {
				t.Fatalf("%d rows: %v", m, rows)
			}
			for _, r := range last {
				if !slices.Contains(rows, r) {
					t.Errorf("%v does not contain %v", rows, last)
				}
			}
			for r, g := range labels {
				for s, h := range labels {
					if g == h && slices.Contains(rows, r) != slices.Contains(rows, s) {
						t.Errorf("%v has only one of rows %d and %d", rows, r, s)
					}
				}
			}
			last = rows
		}
	}
	u.groups = nil
	if rows := u.order(1).first(4); len(rows) != 4 {
		t.Errorf("%v without groups", rows)
	}
}

// TestBeat checks that a run whose first end is far above the value that it has to beat has no more starts and no
// alternatives, and that one near it has the same as without.
func TestBeat(t *testing.T) {
	p := func() *table {
		return &table{n: 150, starts: [][]float64{{0, 2, 0.25}, {5, -2, 0.25}}, alternatives: [][]float64{{1, -2.5, 0.25}}}
	}
	own := tune(t, p(), Settings{})
	far, near := own.F-lost-1, own.F+1
	after := tune(t, p(), Settings{Beat: &far})
	if !slices.Contains(steps(own), "alternatives") || slices.Contains(steps(after), "alternatives") || after.FullSize.Value >= own.FullSize.Value || !(after.F > far) {
		t.Errorf("steps %v and %v", steps(own), steps(after))
	}
	if same := tune(t, p(), Settings{Beat: &near}); same.F != own.F || same.Total != own.Total {
		t.Errorf("%v and %v, %+v and %+v", same.F, own.F, same.Total, own.Total)
	}
}
