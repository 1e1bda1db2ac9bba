package hyperopt

import (
	"context"
	"errors"
	"math"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"gpfit/hyperopt/descent"
	"gpfit/internal/testcheck"
)

// table is a problem of n rows whose objective is a sum over them: Σ ½c_i(z₀−a_i)²
// + w(z₁), with two wells in z₁, and rows that agree roughly.
type table struct {
	n            int
	limits       []float64
	workers      int
	open         atomic.Int64
	room         error
	least        int // rows without which the objective is undetermined
	starts       [][]float64
	alternatives [][]float64 // near
	far          [][]float64
	groups       []int
	// full counts evaluations over all rows; fail, unless nil, is called before each.
	full atomic.Int64
	fail func(rows int) error
}

func (p *table) Rows() int       { return p.n }
func (p *table) Workers(int) int { return max(1, p.workers) }

func (p *table) Starts() ([][]float64, int) { return p.starts, 7 }
func (p *table) Groups() []int              { return p.groups }

func (p *table) Parameters() []descent.Parameter {
	inf := math.Inf(1)
	return []descent.Parameter{
		{Name: "a", Group: "a", Start: 3, Lower: -inf, Upper: inf},
		{Name: "b", Group: "b", Start: -1.5, Lower: -8, Upper: 8},
		{Name: "c", Group: "c", Start: 0.25, Lower: -inf, Upper: inf, Fixed: true},
	}
}

func (p *table) Limits([]float64) []float64 {
	if p.limits != nil {
		return p.limits
	}
	return []float64{math.Inf(1), math.Inf(1), math.Inf(1)}
}

func (p *table) Alternatives([]float64) (near, far [][]float64) { return p.alternatives, p.far }

func (p *table) Room(context.Context, int) error { return p.room }

func (p *table) Open(_ context.Context, _ int, rows []int) (Session, error) {
	all := rows == nil
	if all {
		for i := range p.n {
			rows = append(rows, i)
		}
	}
	if len(rows) < p.least {
		return nil, ErrUndetermined
	}
	if !slices.IsSorted(rows) {
		return nil, errors.New("rows are not ascending")
	}
	p.open.Add(1)
	return &part{p, rows, all}, nil
}

type part struct {
	*table
	rows []int
	all  bool
}

func (s *part) Close() { s.open.Add(-1) }

func (s *part) Value(ctx context.Context, z []float64) (float64, error) {
	if s.all {
		s.full.Add(1)
	}
	if s.fail != nil {
		if err := s.fail(len(s.rows)); err != nil {
			return 0, err
		}
	}
	return s.f(z, nil), ctx.Err()
}

func (s *part) ValueGradient(ctx context.Context, z, g []float64) (float64, error) {
	return s.f(z, g), ctx.Err()
}

// f has minima near z₁ = −2 and, deeper, z₁ = 3.
func (s *part) f(z, g []float64) float64 {
	f := 0.0
	clear(g)
	for _, i := range s.rows {
		d := z[0] - math.Sin(float64(i))
		well := z[1] - 3
		other := z[1] + 2
		f += d*d/2 + math.Log1p(well*well*other*other/9) - z[1]/20
		if g != nil {
			g[0] += d
			q := well * well * other * other / 9
			g[1] += 2*well*other*(well+other)/9/(1+q) - 0.05
		}
	}
	return f
}

func tune(t *testing.T, p *table, s Settings) *Result {
	t.Helper()
	r := testcheck.Get(Tune(t.Context(), p, s, nil))(t)
	starts := 1 + s.Restarts
	if p.starts != nil {
		starts = max(1+leastFinals, starts)
	}
	if p.open.Load() != int64(min(p.Workers(p.Rows()), starts)) {
		t.Errorf("%d objectives are open, those over all rows should be", p.open.Load())
	}
	return r
}

func steps(r *Result) []string {
	return testcheck.Slice(len(r.Path), func(i int) string { return r.Path[i].Step })
}

// TestTune checks that tuning by stages, by halves or directly ends at a minimum over all rows,
// with restarts at the better one, and that its counts and its path are consistent.
func TestTune(t *testing.T) {
	for name, c := range map[string]struct {
		n     int
		s     Settings
		steps []string
		least int
	}{
		"plain":              {300, Settings{}, []string{"descent"}, 0},
		"stages":             {2100, Settings{}, []string{"descent", "descent", "hessian", "descent"}, 0},
		"coarse off":         {2100, Settings{Coarse: CoarseOff}, []string{"descent"}, 0},
		"coarse on":          {300, Settings{Coarse: CoarseOn}, []string{"descent", "hessian", "descent"}, 0},
		"halves":             {300, Settings{Restarts: 12}, []string{"halves", "values", "descent", "screen", "values", "descent"}, 0},
		"restarts, few rows": {40, Settings{Restarts: 12}, []string{"descent"}, 0},
		"restarts, stages":   {2100, Settings{Restarts: 12}, []string{"descent", "descent", "hessian", "descent"}, 0},
		"undetermined":       {2100, Settings{}, []string{"descent", "hessian", "descent"}, 1000},
		"all undetermined":   {300, Settings{Restarts: 12}, []string{"values", "descent", "values", "descent"}, 280},
	} {
		t.Run(name, func(t *testing.T) {
			p := &table{n: c.n, least: c.least}
			r := tune(t, p, c.s)
			if !r.Status.Converged() || r.X[2] != 0.25 {
				t.Fatalf("%v at %v", r.Status, r.X)
			}
			want := -2.0
			if c.s.Restarts > 0 {
				want = 3
			}
			if math.Abs(r.X[1]-want) > 0.5 {
				t.Errorf("ends at %v, want the well at %v", r.X, want)
			}
			var sum descent.Evaluations
			for _, s := range r.Path {
				sum.Add(s.Evaluations)
			}
			if got := steps(r); !slices.Equal(got, c.steps) {
				t.Errorf("steps %q, want %q", got, c.steps)
			}
			if last := r.Path[len(r.Path)-1]; last.Rows != c.n || last.F != r.F {
				t.Errorf("the path ends with %+v, the result is %v", last, r.F)
			}
			if sum.Gradient != r.Total.Gradient || int64(r.FullSize.Value) != p.full.Load() {
				t.Errorf("path %+v, total %+v, over all rows %+v of %d", sum, r.Total, r.FullSize, p.full.Load())
			}
			if len(r.Optima) == 0 || r.Optima[0].F != r.F {
				t.Errorf("the result is %v, optima %+v", r.F, r.Optima)
			}
		})
	}
}

// TestGoodStart checks that a suggested start that is the best over all rows is not undone
// by its half, and that without restarts suggestions lead to the better optimum, too.
func TestGoodStart(t *testing.T) {
	for _, restarts := range []int{0, 3} {
		p := &table{n: 300, starts: [][]float64{{-5, -6, 0.25}, {0, 3, 0.25}, {5, -4, 0.25}}}
		if r := tune(t, p, Settings{Restarts: restarts}); math.Abs(r.X[1]-3) > 0.5 {
			t.Errorf("%d restarts end at %v", restarts, r.X)
		}
	}
}

// TestOptima checks that optima are distinct and sorted, and that every start is at one.
func TestOptima(t *testing.T) {
	r := tune(t, &table{n: 40}, Settings{Restarts: 7, Seed: 3})
	starts, drawn, spent := 0, 0, descent.Evaluations{}
	for i, o := range r.Optima {
		starts, drawn = starts+o.Starts, drawn+o.Drawn
		spent.Add(o.Evaluations)
		if i > 0 && o.F < r.Optima[i-1].F {
			t.Error("not in order")
		}
	}
	if len(r.Optima) != 2 || starts != 8 {
		t.Errorf("%d starts at %+v", starts, r.Optima)
	}
	if c := NewCoverage(r); drawn != 7 || c != (Coverage{Starts: 8, Best: r.Optima[0].Starts, Next: r.Optima[1].F - r.F}) {
		t.Errorf("%d drawn, %+v", drawn, c)
	}
	if spent.Value == 0 || spent.Value > r.Total.Value || spent.Value < r.Total.Value-1 {
		t.Errorf("%d values of %d belong to optima; at most one is between two", spent.Value, r.Total.Value)
	}
}

// TestTuneWorkers checks that the result on several workers equals the result on one, bit by bit.
func TestTuneWorkers(t *testing.T) {
	for _, n := range []int{150, 300, 2100} {
		s := Settings{Restarts: 5, Seed: 2}
		one, more := tune(t, &table{n: n}, s), tune(t, &table{n: n, workers: 3}, s)
		if diff := cmp.Diff(one, more, cmpopts.EquateNaNs(), cmpopts.IgnoreFields(Stage{}, "Took")); diff != "" {
			t.Errorf("n = %d, three workers:\n%s", n, diff)
		}
	}
}

// TestTuneEnds checks that a lack of memory ends tuning before any work, and that
// an error of the objective or a cancellation ends it with the best point so far,
// without a value if the point is from a smaller stage.
func TestTuneEnds(t *testing.T) {
	full := errors.New("no room")
	p := &table{n: 2100, room: full}
	if r, err := Tune(t.Context(), p, Settings{}, nil); !errors.Is(err, full) || r.X != nil || p.open.Load() != 0 {
		t.Errorf("%+v, %v", r, err)
	}
	broken := errors.New("broken")
	for _, c := range []struct {
		n, rows, restarts int
		value             bool
	}{{2100, 1050, 0, false}, {2100, 2100, 0, true}, {300, 150, 3, false}, {300, 300, 3, true}} {
		calls := 0
		p := &table{n: c.n, fail: func(rows int) error {
			if rows == c.rows {
				calls++
			}
			if calls > 1 {
				return broken
			}
			return nil
		}}
		r, err := Tune(t.Context(), p, Settings{Restarts: c.restarts}, nil)
		if !errors.Is(err, broken) || r.X == nil || math.IsNaN(r.F) == c.value {
			t.Errorf("n = %d, broken at %d rows: X %v, F %v, %v", c.n, c.rows, r.X, r.F, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if r, err := Tune(ctx, &table{n: 300}, Settings{}, nil); !errors.Is(err, context.Canceled) || r.X != nil {
		t.Errorf("%+v, %v", r, err)
	}
	for _, s := range []Settings{{Restarts: -1}, {Coarse: "maybe"}} {
		if _, err := Tune(t.Context(), &table{n: 30}, s, nil); err == nil {
			t.Errorf("%+v was taken", s)
		}
	}
}

// TestLimits checks that between stages free parameters are limited to the
// problem's limits, but not below their bounds.
func TestLimits(t *testing.T) {
	p := &table{limits: []float64{1, -9, 0}}
	u := &tuner{problem: p, params: p.Parameters()}
	if got := u.withinReach([]float64{2, 5, 0.25}); !slices.Equal(got, []float64{1, -8, 0.25}) {
		t.Errorf("%v", got)
	}
	if got := u.withinReach([]float64{0.5, -8.5, 0.25}); !slices.Equal(got, []float64{0.5, -8.5, 0.25}) {
		t.Errorf("%v", got)
	}
}

// TestStageSizes checks when there are stages, and their numbers of rows.
func TestStageSizes(t *testing.T) {
	for _, c := range []struct {
		n        int
		coarse   Coarse
		restarts int
		want     []int
	}{
		{600, "", 0, nil}, // a half for each start
		{1999, CoarseAuto, 0, nil},
		{2000, CoarseAuto, 0, []int{500, 1000}},
		{4001, "", 0, []int{501, 1001, 2001}},
		{4001, CoarseOff, 3, nil},
		{600, CoarseOn, 0, []int{300}},
		{40, "", 3, nil},
		{300, "", 3, nil}, // a half for each start
		{300, CoarseOn, 3, nil},
		{199, CoarseOn, 3, nil},
		{40, CoarseOn, 3, []int{20}},
		{4001, "", 3, []int{501, 1001, 2001}},
		{3, CoarseOn, 0, []int{2}},
	} {
		u := &plan{Settings: Settings{Coarse: c.coarse, Restarts: c.restarts}, rows: c.n, free: 3, pool: 8}
		u.count = u.startCount()
		if got := u.stageSizes(); !slices.Equal(got, c.want) {
			t.Errorf("n = %d, %s, %d restarts: %v, want %v", c.n, c.coarse, c.restarts, got, c.want)
		}
	}
}

func TestExpected(t *testing.T) {
	for _, c := range []struct {
		s          Settings
		rows, free int
		want       []Expectation
	}{
		{Settings{}, 500, 3, []Expectation{{250, 80}, {500, 58}}},
		{Settings{}, 150, 3, []Expectation{{75, 80}, {150, 58}}},
		{Settings{}, 40, 3, []Expectation{{40, 105}}},
		{Settings{}, 3000, 3, []Expectation{{750, 96}, {1500, 7}, {3000, 5}}},
		{Settings{Coarse: CoarseOff, Restarts: 1}, 3000, 3, []Expectation{{3000, 56}}},
		{Settings{Coarse: CoarseCheck}, 3000, 3, []Expectation{{750, 96}, {1500, 7}, {3000, 33}}},
		{Settings{Coarse: CoarseCheck}, 40, 3, []Expectation{{40, 133}}},
		{Settings{Restarts: 2}, 600, 3, []Expectation{{300, 100}, {600, 60}}},
		{Settings{Restarts: 2}, 3000, 3, []Expectation{{750, 96}, {1500, 21}, {3000, 15}}},
	} {
		if got := Expected(c.s, c.rows, c.free); !slices.Equal(got, c.want) {
			t.Errorf("%+v, %d rows: %v, want %v", c.s, c.rows, got, c.want)
		}
	}
}
