package figure

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"gpfit/compare"
	"gpfit/internal/testcheck"
	"gpfit/show/plotting"
)

// result is a comparison of some methods on one input, the first with a density.
func result(methods int) *compare.Result {
	x := []float64{0, 1, 2, 3}
	r := &compare.Result{Features: []string{"day"}, Target: "load", RankBy: compare.ByRMSE, Curves: &compare.Curves{
		X: x, TrainX: x, TrainY: []float64{1, 3, 2, 4}, TestX: []float64{1.5}, TestY: []float64{2.5},
	}}
	for i := range methods {
		score := float64(i + 1)
		e := compare.Ranked{Method: fmt.Sprintf("m%d", i), Status: compare.Done, RMSE: &score, FitSeconds: 0.01 * score}
		c := compare.Curve{Method: e.Method, Mean: []float64{score, score, score, score}}
		if i == 0 {
			c.Lower, c.Upper = x, []float64{4, 4, 4, 4}
		}
		r.Methods = append(r.Methods, e)
		r.Curves.Curves = append([]compare.Curve{c}, r.Curves.Curves...) // the worst first
	}
	return r
}

func TestFits(t *testing.T) {
	f := testcheck.Get(Fits(result(3), nil))(t)
	layers := f.Charts[0].Layers
	if len(f.Charts) != 1 || len(layers) != 6 { // an interval, two kinds of rows, three fits
		t.Fatalf("%d charts with %d layers", len(f.Charts), len(layers))
	}
	if band, ok := layers[0].(*plotting.Band); !ok || band.Name != "95 % interval, m0" {
		t.Errorf("the first layer is %+v", layers[0])
	}
	if line, ok := layers[3].(*plotting.Line); !ok || line.Name != "m0" {
		t.Errorf("the first fit is %+v", layers[3])
	}
	svg := testcheck.Get(f.SVG())(t)
	for _, text := range []string{"m2", "held-out rows", "day", "load"} {
		if !strings.Contains(svg, ">"+text+"<") {
			t.Errorf("the figure lacks %q", text)
		}
	}
	date := func(x float64) time.Time { return time.Date(2024, 1, 1+int(x), 0, 0, 0, 0, time.UTC) }
	if f = testcheck.Get(Fits(result(colors+1), date))(t); len(f.Charts) != colors+1 || f.Charts[1].Title != "m1" || f.Charts[1].X.Date == nil {
		t.Errorf("%d charts", len(f.Charts))
	}
	if line, ok := f.Charts[6].Layers[2].(*plotting.Line); !ok || line.Name != "fit" { // below other charts' names
		t.Errorf("the fit of the last chart is %+v", f.Charts[6].Layers[2])
	}
}

func TestGrowth(t *testing.T) {
	r := result(8)
	few := result(8)
	few.Methods[7].Status, few.Methods[7].RMSE = compare.Failed, nil
	few.Methods[0].FitSeconds = 0
	r.Sizes = []compare.Growth{{Train: 5, Methods: few.Methods}, {Train: 40, Methods: r.Methods}}
	f := testcheck.Get(Growth(r))(t)
	scores, seconds := f.Charts[0].Layers, f.Charts[2].Layers
	if len(scores) != 16 || len(seconds) != 16 {
		t.Fatalf("%d and %d layers", len(scores), len(seconds))
	}
	if best := scores[0].(*plotting.Line); best.Y[0] != 1 || best.X[1] != 40 || best.Dashed {
		t.Errorf("the best method is %+v", best)
	}
	if last := scores[14].(*plotting.Line); !math.IsNaN(last.Y[0]) || last.Y[1] != 8 || !last.Dashed {
		t.Errorf("the last method is %+v", last)
	}
	if fast := seconds[0].(*plotting.Line); fast.Y[0] != least || fast.Name != "" {
		t.Errorf("the time of the best method is %+v", fast)
	}
	if _, err := f.SVG(); err != nil {
		t.Error(err)
	}
}

func TestErrors(t *testing.T) {
	r := result(3)
	small, zero := 0.25, 0.0
	r.Methods[0].TrainingRMSE, r.Methods[1].TrainingRMSE = &small, &zero
	r.Methods[2].Status = compare.Failed
	f := testcheck.Get(Errors(r))(t)
	training, held := f.Charts[0].Layers[0].(*plotting.Points), f.Charts[0].Layers[1].(*plotting.Points)
	if len(training.X) != 2 || training.X[0] != small || !math.IsNaN(training.X[1]) || held.X[1] != *r.Methods[1].RMSE || held.Y[1] != 1 {
		t.Errorf("training rows %+v, held-out rows %+v", training, held)
	}
	if _, err := f.SVG(); err != nil {
		t.Error(err)
	}
}

func TestNothing(t *testing.T) {
	r := result(1)
	r.Methods[0].Status = compare.Failed
	if _, err := Errors(r); !errors.Is(err, ErrNothing) {
		t.Errorf("without scores: %v", err)
	}
	r = result(1)
	if _, err := Growth(r); !errors.Is(err, ErrNothing) {
		t.Errorf("without sizes: %v", err)
	}
	r.Curves = nil
	if _, err := Fits(r, nil); !errors.Is(err, ErrNothing) {
		t.Errorf("without curves: %v", err)
	}
}

// TestPage checks that the page of a comparison has its tables and the pictures that there are, and says why a method failed.
func TestPage(t *testing.T) {
	r := result(3)
	r.Verdict = "m0 is best"
	r.Methods[2].Status, r.Methods[2].Error = compare.Failed, "too few rows"
	p := testcheck.Get(Page(r, "load.csv", nil))(t)
	methods, sizes := p.Sections[0], p.Sections[1]
	if p.Headline[0] != "m0 is best." || len(methods.Tables) != 2 || len(methods.Pictures) != 2 || !sizes.Empty() {
		t.Errorf("headline %q, %d tables, %d pictures, %+v", p.Headline, len(methods.Tables), len(methods.Pictures), sizes)
	}
	if cells := methods.Tables[0].Rows[1].Cells; cells[1].Text != "m1" || cells[2].Text != "2" {
		t.Errorf("the second row is %+v", cells)
	}
	if cells := methods.Tables[1].Rows[0].Cells; cells[0].Text != "m2" || cells[1].Text != "too few rows" {
		t.Errorf("failed: %+v", cells)
	}
}
