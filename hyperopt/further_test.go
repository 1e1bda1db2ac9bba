package hyperopt

import (
	"context"
	"math"
	"slices"
	"strings"
	"testing"

	"gpfit/hyperopt/descent"
	"gpfit/internal/must"
)

// misleading is a table whose subsets draw every start to the worse of two optima: over all
// rows z₀ has minima near −2 and, lower, near 2, and the start values are on the slope to 2.
type misleading struct{ table }

func (p *misleading) Parameters() []descent.Parameter {
	return []descent.Parameter{{Name: "a", Group: "a", Start: 0.5, Lower: -8, Upper: 8}}
}
func (p *misleading) Limits([]float64) []float64 { return []float64{math.Inf(1)} }

func (p *misleading) Open(ctx context.Context, worker int, rows []int) (Session, error) {
	s, err := p.table.Open(ctx, worker, rows)
	if err != nil {
		return nil, err
	}
	return misled{s.(*part), len(rows) > 0 && len(rows) < p.n}, nil
}

type misled struct {
	*part
	few bool
}

func (s misled) Value(_ context.Context, z []float64) (float64, error) {
	if s.all {
		s.full.Add(1)
	}
	return s.at(z[0], make([]float64, 1)), nil
}

func (s misled) ValueGradient(_ context.Context, z, g []float64) (float64, error) {
	return s.at(z[0], g), nil
}

func (s misled) at(x float64, g []float64) float64 {
	n := float64(len(s.rows))
	if s.few {
		g[0] = n * (x + 2)
		return n * (x + 2) * (x + 2) / 2
	}
	g[0] = n * (x*(x*x-4) - 0.1)
	return n * ((x*x-4)*(x*x-4)/4 - x/10)
}

func tuneMisled(t *testing.T, n int, s Settings) (*Result, int64) {
	t.Helper()
	p := &misleading{table{n: n}}
	r := must.Get(Tune(context.Background(), p, s, nil))(t)
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
	}{{2100, 0, true}, {2100, 2, true}, {150, 2, false}, {150, 0, false}} {
		auto := tune(t, &table{n: c.n}, Settings{Restarts: c.restarts})
		check := tune(t, &table{n: c.n}, Settings{Restarts: c.restarts, Coarse: CoarseCheck})
		if (check.Plain != nil) != c.compared || auto.Subsets != c.compared || len(check.Warnings) > 0 || check.F > auto.F {
			t.Errorf("%+v: auto %v, check %v, %+v, warnings %q", c, auto.F, check.F, check.Plain, check.Warnings)
		}
		starts := func(r *Result) int { v := NewCoverage(r.Optima); return v.Starts + v.Stopped }
		if c.restarts > 0 && c.compared && starts(check) != starts(auto)+1 {
			t.Errorf("%d and %d starts", starts(auto), starts(check))
		}
	}
}

// TestRacedPlain checks that the descent from the start values that a race over all rows
// stopped runs to its end with CoarseCheck, and that it is not made twice otherwise.
func TestRacedPlain(t *testing.T) {
	steps := func(r *Result) (out []string) {
		for _, s := range r.Path {
			out = append(out, s.Step)
		}
		return out
	}
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

// pit is a table with two equal optima at ±1 and, between them, a pit at 0 that no descent
// meets.
type pit struct{ misleading }

func (p *pit) Parameters() []descent.Parameter {
	return []descent.Parameter{{Name: "a", Group: "a", Start: 1.2, Lower: -8, Upper: 8}}
}
func (p *pit) Starts() [][]float64 { return [][]float64{{-1.2}} }
func (p *pit) Open(ctx context.Context, worker int, rows []int) (Session, error) {
	s, err := p.table.Open(ctx, worker, rows)
	if err != nil {
		return nil, err
	}
	return pitted{s.(*part)}, nil
}

type pitted struct{ *part }

func (s pitted) Value(_ context.Context, z []float64) (float64, error) {
	s.full.Add(1)
	return s.at(z[0], make([]float64, 1)), nil
}

func (s pitted) ValueGradient(_ context.Context, z, g []float64) (float64, error) {
	return s.at(z[0], g), nil
}

func (s pitted) at(x float64, g []float64) float64 {
	const depth, width = 9, 0.05
	hole := depth * math.Exp(-x*x/(2*width*width))
	g[0] = 4*x*(x*x-1) + hole*x/(width*width)
	return (x*x-1)*(x*x-1) - hole
}

// TestLower checks that a fit descends from a point that it met below its end.
func TestLower(t *testing.T) {
	p := &pit{misleading{table{n: 100}}}
	r := must.Get(Tune(context.Background(), p, Settings{Restarts: 1}, nil))(t)
	if math.Abs(r.X[0]) > 1e-3 || !(r.F < -7.9) || len(r.Optima) == 0 || r.Optima[0].F != r.F || r.BestStart != 2 {
		t.Errorf("ends at %v, %v: optima %+v", r.X, r.F, r.Optima)
	}
	if last := r.Path[len(r.Path)-1]; last.Step != "lower" || last.F != r.F || int64(r.FullSize.Value) != p.full.Load() {
		t.Errorf("path %+v; %d values, the objective counts %d", r.Path, r.FullSize.Value, p.full.Load())
	}
}

// TestAlternatives checks that the tuning descends from a near alternative to the best
// end, that it keeps the better end and counts its evaluations, and that it leaves far
// alternatives alone.
func TestAlternatives(t *testing.T) {
	step := func(r *Result) bool {
		return slices.ContainsFunc(r.Path, func(s Stage) bool { return s.Step == "alternatives" })
	}
	for _, c := range []struct {
		name        string
		alternative []float64
		want        bool
	}{
		{"none", nil, false},
		{"near", []float64{0.1, 2.9, 0.25}, true},
		{"far", []float64{60, 7, 0.25}, false},
	} {
		p := &table{n: 400}
		if c.alternative != nil {
			p.alternatives = [][]float64{c.alternative}
		}
		r := tune(t, p, Settings{Restarts: 2})
		if step(r) != c.want {
			t.Errorf("%s: path %+v", c.name, r.Path)
		}
		if int64(r.FullSize.Value) != p.full.Load() {
			t.Errorf("%s: %+v evaluations over all rows, the objective counts %d", c.name, r.FullSize, p.full.Load())
		}
	}
}
