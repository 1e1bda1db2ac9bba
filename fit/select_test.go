package fit

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"gpfit/fit/problem"
	"gpfit/fit/summary"
	"gpfit/internal/each"
	"gpfit/internal/testcheck"
	"gpfit/kernel"
)

func mustSelect(t *testing.T, d problem.Data, o problem.Options, s SelectOptions) *Selection {
	t.Helper()
	return testcheck.Get(Select(t.Context(), d, o, problem.Events{}, s, backend))(t)
}

// TestSelect checks that every kernel has the scores of a separate fit and
// cross-validation, and that the best kernel has the smallest score.
func TestSelect(t *testing.T) {
	d := trend(60)
	kernels := []string{"rbf", "matern12", "linear", "rbf(lengthscale=0.1) + linear"}
	for _, score := range SelectionScores() {
		r := mustSelect(t, d, problem.Options{Kernel: "rbf", Mean: "constant"}, SelectOptions{Kernels: kernels, Score: score, CrossValidation: problem.CrossValidation{Folds: 5, Seed: 2}})
		if len(r.Candidates) != 4 || r.Candidates[3].Kernel != "rbf(lengthscale=0.1) + linear" || r.Score != score {
			t.Fatalf("%+v", r)
		}
		of := func(c Candidate) float64 {
			return *map[SelectionScore]*float64{ByNLML: c.NLML, ByBIC: c.BIC, ByLOO: c.LOO, ByCV: c.CV}[score]
		}
		for _, c := range r.Candidates {
			if of(c) < of(r.Candidates[r.Best]) {
				t.Errorf("by %s %s is best, %s is better", score, r.Candidates[r.Best].Kernel, c.Kernel)
			}
		}
		if r.Report.Kernel != r.Candidates[r.Best].Kernel || r.Outcome.Model.Kernel != r.Report.Kernel {
			t.Errorf("report of %s, model of %s", r.Report.Kernel, r.Outcome.Model.Kernel)
		}
		if score != ByBIC {
			continue
		}
		o := problem.Options{Kernel: "rbf", Mean: "constant", LeaveOneOut: true}
		out := mustFit(t, d, o)
		cv := testcheck.Get(CrossValidate(t.Context(), mustPrepare(t, d, o), backend, out.Report.Parameters, problem.CrossValidation{Folds: 5, Seed: 2}))(t)
		// Three parameters of the covariance, one of the mean.
		bic := 2*out.Report.NLML + 4*math.Log(60)
		if c := r.Candidates[0]; *c.NLML != out.Report.NLML || *c.LOO != out.Report.Scores.LeaveOneOut.Sum || *c.CV != float64(cv.NLPD) || math.Abs(*c.BIC-bic) > 1e-12*math.Abs(bic) || c.Parameters != 4 {
			t.Errorf("%+v, alone NLML %v, BIC %v, CV %v", c, out.Report.NLML, bic, float64(cv.NLPD))
		}
		testcheck.Do(t, r.Outcome.SaveModel(t.TempDir()+"/best.gpfit", false))
		testcheck.Words(t, r.Text(), "*  rbf(lengthscale=0.1) + linear", "best by bic", "CV NLPD", "5-fold validation")
	}
}

// TestSelectAutomatic checks that without kernels the table has what a fit with the kernel auto compares.
func TestSelectAutomatic(t *testing.T) {
	d := trend(40)
	want := mustFit(t, d, problem.Options{LeaveOneOut: true}).Report
	r := mustSelect(t, d, problem.Options{}, SelectOptions{CrossValidation: problem.CrossValidation{Folds: 4, Seed: 2}})
	if r.Score != ByBIC || r.Best != 0 || len(r.Candidates) != len(want.Choice.Models) || r.Report.NLML != want.NLML {
		t.Fatalf("%+v", r)
	}
	for i, m := range want.Choice.Models {
		c := r.Candidates[i]
		if c.Kernel != m.Kernel || c.Mean != m.Mean || c.Parameters != m.Parameters {
			t.Errorf("%+v, want %+v", c, m)
		}
		if i > 0 { // the best goes on
			testcheck.Within(t, *c.BIC, m.BIC, 1e-9, "BIC of %s", m.Kernel)
			testcheck.Within(t, *c.NLML, m.Objective, 1e-9, "NLML of %s", m.Kernel)
		}
	}
	if c := r.Candidates[0]; c.CV == nil || c.LOO == nil || c.Status != want.Status {
		t.Errorf("%+v", c)
	}
	testcheck.Words(t, r.Text(), "compared on 40 rows", "best by bic", "chosen                 "+want.Choice.Text())
}

// TestSelectOnFewerRows checks that the table has the chosen model also as it was compared with the others.
func TestSelectOnFewerRows(t *testing.T) {
	choice := &summary.ModelChoice{Rows: 750, Models: []summary.ChosenModel{{Kernel: "rbf", Mean: "zero", Objective: -10, BIC: -30}, {Kernel: "rq", Mean: "zero", Objective: -9, BIC: -20}}}
	c := append(compared(choice, 1500), compared(choice, 750)...)
	if len(c) != 3 || c[0].Kernel != "rbf" || *c[0].BIC != -30 || *c[0].NLML != -20 || c[0].Status != "compared on 750 rows" || c[2].Kernel != "rq" || *c[2].NLML != -9 {
		t.Errorf("%+v", c)
	}
	testcheck.Words(t, (&Selection{N: 1500, Candidates: c, Report: &summary.Report{Choice: choice}}).Text(), "over all 1500 rows, the second those of the same model")
}

// TestGreedy checks that the search finds that the data are a line and a wiggle for
// any order of the leaves, never fits a kernel twice, and is deterministic.
func TestGreedy(t *testing.T) {
	d := trend(60)
	s := SelectOptions{Kernels: []string{"rbf", "linear"}, Greedy: true, MaxTerms: 3, CrossValidation: problem.CrossValidation{Folds: 3}}
	r := mustSelect(t, d, problem.Options{Kernel: "rbf", Mean: "zero"}, s)
	if got := r.Report.Kernel; got != "linear + rbf" {
		t.Errorf("found %s:\n%s", got, r.Text())
	}
	seen := map[string]bool{}
	for i, c := range r.Candidates {
		if seen[c.Kernel] {
			t.Errorf("%s twice", c.Kernel)
		}
		seen[c.Kernel] = true
		if want := min(i/2, 1); i < 3 && c.Round != want {
			t.Errorf("candidate %d in round %d", i, c.Round)
		}
	}
	testcheck.Words(t, r.Stopped, "no kernel")
	again := mustSelect(t, d, problem.Options{Kernel: "rbf", Mean: "zero"}, s)
	if diff := cmp.Diff(r.Candidates, again.Candidates, cmpopts.IgnoreFields(Candidate{}, "Seconds")); diff != "" {
		t.Errorf("two runs differ:\n%s", diff)
	}
	s.Budget = 3
	if r := mustSelect(t, d, problem.Options{Kernel: "rbf", Mean: "zero"}, s); len(r.Candidates) != 3 || !strings.Contains(r.Stopped, "budget of 3") {
		t.Errorf("%d kernels with a budget of 3; stopped: %s", len(r.Candidates), r.Stopped)
	}
	s.Budget, s.MaxTerms = 0, 1
	if r := mustSelect(t, d, problem.Options{Kernel: "rbf", Mean: "zero"}, s); len(r.Candidates) != 2 || !strings.Contains(r.Stopped, "every kernel") {
		t.Errorf("%d kernels of one leaf; stopped: %s", len(r.Candidates), r.Stopped)
	}
}

// TestWarmStart checks that a grown kernel starts at the values of the kernel that it
// was made from, and that a noise near its bound does not widen the bound.
func TestWarmStart(t *testing.T) {
	r := &selection{ctx: t.Context(), data: trend(40), settings: SelectOptions{}, tried: map[string]bool{}, best: -1}
	e := mustParse(t, "linear + rbf")
	values := newLeafValues(e, map[string]float64{"k1.signal_variance": 7, "k2.signal_variance": 5, "k2.lengthscale": 0.3, "noise_variance": 2e-9})
	grown := neighbours(e, bases(t, "matern32"), 3)
	for _, n := range grown {
		task := testcheck.Get(r.prepare(candidateExpr{expr: n, values: values}))(t)
		report := testcheck.Get(Evaluate(t.Context(), task, backend, nil))(t)
		if n.String() == "linear + matern32 + rbf" {
			for name, v := range map[string]float64{"k1.signal_variance": 7, "k3.signal_variance": 5, "k3.lengthscale": 0.3} {
				testcheck.Within(t, report.Parameters[name], v, 1e-14*v, "%s: start of %s", n, name)
			}
		}
		testcheck.Within(t, report.Parameters["noise_variance"], 2e-9, 1e-23, "%s: start of the noise", n)
		for i, q := range testcheck.Get(r.prepare(candidateExpr{expr: n}))(t).Params.Free {
			if got := task.Params.Free[i]; got.Lower != q.Lower || got.Upper != q.Upper {
				t.Errorf("%s: bounds %v:%v of %s, by default %v:%v", n, got.Lower, got.Upper, q.Name, q.Lower, q.Upper)
			}
		}
	}
	if len(grown) < 5 {
		t.Errorf("%d kernels", len(grown))
	}
}

func TestSelectCancel(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s := SelectOptions{Kernels: []string{"matern12", "rbf", "linear"}, OnCandidate: func(i, known int, _ string) {
		if known != 3 {
			t.Errorf("%d known", known)
		}
		if i == 2 {
			cancel()
		}
	}}
	r, err := Select(ctx, trend(40), problem.Options{Kernel: "rbf", Mean: "zero"}, problem.Events{}, s, backend)
	if !errors.Is(err, context.Canceled) || r == nil || len(r.Candidates) != 2 || r.Stopped != "interrupted" {
		t.Fatalf("%+v, %v", r, err)
	}
	testcheck.Do(t, r.Outcome.SaveModel(t.TempDir()+"/m", false))
	r, err = Select(ctx, trend(40), problem.Options{Kernel: "rbf", Mean: "zero"}, problem.Events{}, SelectOptions{Kernels: []string{"rbf"}}, backend)
	if testcheck.Fail[*problem.CancelledError](t, err, "interrupted after 0 kernels: nothing is written, and the same command starts from the beginning"); r != nil {
		t.Errorf("cancelled from the start: %+v", r)
	}
}

// TestSelectFailures checks that a kernel that cannot be fitted does not end the
// comparison, and that a mistake does, before any fit.
func TestSelectFailures(t *testing.T) {
	d := trend(30)
	// Without noise a line of rank 1 is singular.
	r := mustSelect(t, d, problem.Options{Kernel: "rbf", Mean: "zero", NoNoise: true}, SelectOptions{Kernels: []string{"linear", "matern12"}})
	if c := r.Candidates[0]; c.Error == "" || c.Status != "failed" || c.NLML != nil || r.Best != 1 {
		t.Errorf("%+v", r.Candidates)
	}
	testcheck.Words(t, r.Text(), "failed: ")
	_, err := Select(t.Context(), d, problem.Options{Kernel: "rbf", Mean: "zero", NoNoise: true}, problem.Events{}, SelectOptions{Kernels: []string{"linear"}}, backend)
	testcheck.Fail[error](t, err, "no kernel could be fitted")
	for what, s := range map[string]SelectOptions{
		"no leaves":       {Greedy: true},
		"automatic score": {Score: ByCV},
		"automatic folds": {CrossValidation: problem.CrossValidation{Folds: 40}},
		"a typo":          {Kernels: []string{"rbf", "rfb"}},
		"no such column":  {Kernels: []string{"rbf", "rbf(dims=4)"}},
		"twice":           {Kernels: []string{"rbf", " rbf "}},
		"unknown score":   {Kernels: []string{"rbf"}, Score: "aic"},
		"negative budget": {Kernels: []string{"rbf"}, Budget: -1},
		"no leaf to grow": {Kernels: []string{"rbf + linear"}, Greedy: true},
		"too many folds":  {Kernels: []string{"rbf"}, CrossValidation: problem.CrossValidation{Folds: 40}},
	} {
		s.OnCandidate = func(int, int, string) { t.Errorf("%s: fitted before the mistake was found", what) }
		if r, err := Select(t.Context(), d, problem.Options{Kernel: "rbf", Mean: "zero"}, problem.Events{}, s, backend); err == nil || r != nil {
			t.Errorf("%s accepted", what)
		}
	}
	_, err = Select(t.Context(), d, problem.Options{Kernel: "rbf", Mean: "zero", Set: []problem.Assignment{{Name: "lengthscale", Value: 1, Given: true}}}, problem.Events{}, SelectOptions{Kernels: []string{"rbf", "rbf + linear"}}, backend)
	testcheck.Fail[error](t, err, "kernel rbf + linear: option set lengthscale")
}

func mustParse(t *testing.T, text string) kernel.Expr {
	t.Helper()
	return testcheck.Get(kernel.Parse(text))(t)
}

func bases(t *testing.T, texts ...string) []*kernel.Leaf {
	t.Helper()
	return each.Of(texts, func(text string) *kernel.Leaf { return mustParse(t, text).(*kernel.Leaf) })
}

func TestCanonical(t *testing.T) {
	for text, want := range map[string]string{
		"rbf":                          "rbf",
		"rbf + linear":                 "linear + rbf",
		"rbf + (linear + cosine)":      "cosine + linear + rbf",
		"rbf*(linear*cosine)":          "cosine*linear*rbf",
		"rbf*(linear + (cosine + rq))": "(cosine + linear + rq)*rbf",
		"(rbf + rbf)*(rbf + linear)":   "(linear + rbf)*(rbf + rbf)",
		"linear + rbf*cosine":          "cosine*rbf + linear",
	} {
		for _, from := range []string{text, want} {
			if got := canonical(mustParse(t, from)).String(); got != want {
				t.Errorf("%s becomes %s, want %s", from, got, want)
			}
		}
	}
}

func TestNeighbours(t *testing.T) {
	texts := func(e string, leaves int, b ...string) []string {
		var out []string
		for _, n := range neighbours(mustParse(t, e), bases(t, b...), leaves) {
			if _, err := kernel.Compile(n, kernel.Columns(2)); err != nil {
				t.Errorf("%s: %v", n, err)
			}
			out = append(out, n.String())
		}
		return out
	}
	for _, c := range []struct {
		e      string
		leaves int
		want   []string
	}{
		// rbf*rbf is an rbf.
		{"rbf", 2, []string{"rbf + rbf", "linear + rbf", "linear*rbf", "linear"}},
		{"rbf", 1, []string{"linear"}},
		{"linear + rbf", 3, []string{
			"linear + rbf + rbf", "(linear + rbf)*rbf", "linear + linear + rbf", "linear*(linear + rbf)",
			"linear*rbf + rbf", "rbf + rbf", "linear*linear + rbf", "linear + linear*rbf", "linear + linear",
		}},
	} {
		if got := texts(c.e, c.leaves, "rbf", "linear"); !slices.Equal(got, c.want) {
			t.Errorf("from %s: %q, want %q", c.e, got, c.want)
		}
	}
	if got := texts("rbf", 2, "constant"); !slices.Equal(got, []string{"constant + rbf", "constant"}) {
		t.Errorf("with a constant: %q", got)
	}
	if got := texts("constant + rbf", 3, "constant"); slices.Contains(got, "constant + constant + rbf") {
		t.Errorf("two constants: %q", got)
	}
}

// TestSelectPoor checks that a kernel which cross-validation finds poor is not better than others, and has no star if
// all are.
func TestSelectPoor(t *testing.T) {
	low, high := 1.0, 2.0
	r := &selection{settings: SelectOptions{Score: ByNLML}}
	poor, fair := Candidate{NLML: &low, Verdict: summary.Poor}, Candidate{NLML: &high, Verdict: summary.Fair}
	if r.better(poor, fair) || !r.better(fair, poor) || !r.better(poor, Candidate{NLML: &high, Verdict: summary.Poor}) {
		t.Error("a poor candidate is better")
	}
	noise := drawn(2, 9, 40, "x y", func(_ int, uniform, normal random) []float64 { return []float64{uniform(), normal()} })
	s := mustSelect(t, noise, problem.Options{Mean: "constant", Fix: []problem.Assignment{{Name: "noise_variance", Value: 1e-3, Given: true}}},
		SelectOptions{Kernels: []string{"rbf(lengthscale=0.05)", "matern52(lengthscale=0.05)"}, Score: ByBIC, CrossValidation: problem.CrossValidation{Folds: 4, Seed: 1}})
	if text := s.Text(); s.Candidates[s.Best].Verdict != summary.Poor || strings.Contains(text, "*  ") || !strings.Contains(text, "no kernel is starred: cross-validation finds all of them poor") {
		t.Errorf("verdict %s\n%s", s.Candidates[s.Best].Verdict, text)
	}
}
