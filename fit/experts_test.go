package fit

import (
	"cmp"
	"errors"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gpfit/device"
	"gpfit/fit/problem"
	"gpfit/gp"
	"gpfit/hyperopt"
	"gpfit/internal/testcheck"
	"gpfit/method/experts"
)

// islands are rows in groups that are so far apart that their covariance is 0 in float64.
func islands(groups, each int) problem.Data {
	return drawn(5, 6, groups*each, "a b y", func(i int, uniform, normal random) []float64 {
		a, b := uniform(), uniform()
		return []float64{a + 1000*float64(i%groups), b, math.Sin(6*a) + b*b + 0.1*normal()}
	})
}

// predictAt predicts rows between and around the training rows.
func predictAt(t *testing.T, m *gp.Model, rows []float64) *gp.Prediction {
	t.Helper()
	p := testcheck.Get(m.Condition(t.Context(), backend))(t)
	defer p.Close()
	return testcheck.Get(p.Predict(t.Context(), rows, len(rows)/len(m.FeatureNames)))(t)
}

// divided returns the partition of a model.
func divided(t *testing.T, m *gp.Model) *experts.Partition {
	t.Helper()
	return testcheck.Get(experts.Read(m.State))(t)
}

// sameNumbers compares numbers with the tolerance of the same formula in another order of its sums.
func sameNumbers(t *testing.T, what string, got, want []float64) {
	t.Helper()
	testcheck.Near(t, what, got, want, 1e-10, 1e-10)
}

// TestOneExpertIsPlain checks that a fit with one expert is a fit without, by both rules.
func TestOneExpertIsPlain(t *testing.T) {
	d := synthetic(150)
	d.Test = every(6, 0, d.N)
	for _, text := range []string{"rbf(ard)", "linear(ard)"} {
		o := problem.Options{Kernel: text, Mean: "linear", LeaveOneOut: true}
		plain := mustFit(t, d, o)
		for _, rule := range experts.Rules() {
			o.Experts, o.Combine = "kmeans:1", rule
			one := mustFit(t, d, o)
			sameNumbers(t, text+" NLML", []float64{one.Report.NLML, one.Report.Scores.LeaveOneOut.Sum}, []float64{plain.Report.NLML, plain.Report.Scores.LeaveOneOut.Sum})
			rows := d.X[:20*d.D]
			got, want := predictAt(t, one.Model, rows), predictAt(t, plain.Model, rows)
			sameNumbers(t, text+" mean", got.Mean, want.Mean)
			sameNumbers(t, text+" std", got.Std, want.Std)
			sameNumbers(t, text+" test", []float64{one.Report.Test.RMSE, float64(one.Report.Test.NLPD)}, []float64{plain.Report.Test.RMSE, float64(plain.Report.Test.NLPD)})
		}
	}
}

// TestIslands checks that experts on groups that are far apart are the process of all rows,
// and separate processes at the same parameters.
func TestIslands(t *testing.T) {
	d := islands(3, 40)
	// Lengthscales of the scaled inputs would span the groups.
	o := problem.Options{Mean: "zero", Kernel: "rbf(ard)", Standardize: gp.StandardizeNone, Bounds: []problem.Interval{{Name: "lengthscale", Lo: 0.05, Hi: 5}}, LeaveOneOut: true}
	whole := mustFit(t, d, o)
	o.Experts = "kmeans:3"
	local := mustFit(t, d, o)
	if s := local.Report.Experts; s == nil || !slices.Equal(s.Sizes, []int{40, 40, 40}) || len(s.Rules) != 2 || s.Rules[0].Rows != 120 {
		t.Fatalf("experts %+v", s)
	}
	sameNumbers(t, "NLML", []float64{local.Report.NLML, local.Report.Scores.LeaveOneOut.Sum}, []float64{whole.Report.NLML, whole.Report.Scores.LeaveOneOut.Sum})
	rows := []float64{0.5, 0.5, 1000.2, 0.1, 2000.9, 0.7}
	p := divided(t, local.Model)
	p.Combine = experts.Nearest
	local.Model.State = p.State()
	got, want := predictAt(t, local.Model, rows), predictAt(t, whole.Model, rows)
	sameNumbers(t, "mean", got.Mean, want.Mean)
	sameNumbers(t, "std", got.Std, want.Std)
	nlml := 0.0
	for k := range 3 {
		part := problem.Data{D: 2, FeatureNames: d.FeatureNames, TargetName: "y"}
		for i := k; i < d.N; i += 3 {
			part.X, part.Y, part.N = append(part.X, d.X[2*i:2*i+2]...), append(part.Y, d.Y[i]), part.N+1
		}
		out := mustFit(t, part, problem.Options{Mean: "zero", Kernel: "rbf(ard)", Standardize: gp.StandardizeNone, Fix: assignments(local.Report.Parameters)})
		nlml += out.Report.NLML
		alone := predictAt(t, out.Model, rows[2*k:2*k+2])
		sameNumbers(t, "mean of one", got.Mean[k:k+1], alone.Mean)
		sameNumbers(t, "std of one", got.Std[k:k+1], alone.Std)
	}
	sameNumbers(t, "sum of NLMLs", []float64{local.Report.NLML}, []float64{nlml})
}

// TestRuleChosen checks that a fit takes the rule with the smaller NLPD on left-out rows, that held-out rows are
// predicted by it, and that a given rule stays.
func TestRuleChosen(t *testing.T) {
	d := synthetic(240)
	d.Test = every(5, 0, d.N)
	chosen := map[experts.Rule]bool{}
	for _, data := range []problem.Data{d, islands(3, 40)} {
		o := problem.Options{Mean: "zero", Kernel: "rbf", Experts: "kmeans:3"}
		out := mustFit(t, data, o)
		r := out.Report.Experts
		best := slices.MinFunc(r.Rules, func(a, b experts.RuleScore) int { return cmp.Compare(a.NLPD, b.NLPD) }).Combine
		if !r.CombineChosen || r.Combine != best || divided(t, out.Model).Combine != best {
			t.Errorf("rule %s, chosen %v, of %+v", r.Combine, r.CombineChosen, r.Rules)
		}
		testcheck.Words(t, out.Report.Text(), "combined by "+string(best)+", the rule with the smaller NLPD below")
		chosen[best] = true
		for _, rule := range experts.Rules() {
			o.Combine = rule
			given := mustFit(t, data, o)
			if g := given.Report.Experts; g.CombineChosen || g.Combine != rule {
				t.Errorf("rule %s in place of %s", g.Combine, rule)
			}
			if rule == best && given.Report.Test != nil && given.Report.Test.RMSE != out.Report.Test.RMSE {
				t.Errorf("the held-out rows have RMSE %v by %s and %v by the chosen rule", given.Report.Test.RMSE, rule, out.Report.Test.RMSE)
			}
		}
	}
	if len(chosen) != 2 {
		t.Errorf("the tables choose %v alone", chosen)
	}
}

// TestExpertsFile checks that a model with experts is the same after it was saved and read,
// that it predicts in pieces as at once, and that intervals hold what they say.
func TestExpertsFile(t *testing.T) {
	d := synthetic(700)
	d.Test = every(2, 0, d.N)
	for _, rule := range experts.Rules() {
		out := mustFit(t, d, problem.Options{Mean: "zero", Kernel: "rbf(ard)", Experts: "kmeans:4", Combine: rule})
		if c := out.Report.Test.Coverage95; c < 0.91 || c > 0.99 {
			t.Errorf("%s: %.3f of the held-out rows are in their 95 %% interval", rule, c)
		}
		path := saved(t, out, false)
		m, info, err := gp.Inspect(path)
		if err != nil || info.SchemaVersion != 5 {
			t.Fatalf("%v, version %d", err, info.SchemaVersion)
		}
		if p := divided(t, m); p.Combine != rule || len(p.Scores) != 2 || !(p.Temperature > 0) {
			t.Fatalf("experts %+v", p)
		}
		rows := d.X[:50*d.D]
		want := testcheck.Get(out.Posterior().Predict(t.Context(), rows, 50))(t)
		got := predictAt(t, m, rows)
		sameNumbers(t, "mean", got.Mean, want.Mean)
		sameNumbers(t, "std", got.Std, want.Std)
		for i := 0; i < 50; i += 10 {
			piece := predictAt(t, m, rows[i*d.D:(i+10)*d.D])
			sameNumbers(t, "piece", piece.Std, want.Std[i:i+10])
		}
		p := out.Posterior()
		_, gradient := p.MeanGradient(t.Context(), rows, 50)
		_, _, terms := p.Terms(t.Context(), rows, 50)
		_, weights := p.Weights(t.Context())
		_, joint := p.Joint(t.Context(), rows, 50, gp.JointOptions{})
		_, _, update := p.Extend(t.Context(), backend, gp.Addition{X: rows[:d.D], Y: []float64{1}, N: 1})
		_, relevance := gp.Relevance(t.Context(), m, 1)
		for _, err := range []error{gradient, terms, weights, joint, update, relevance, out.SaveModel(path, true)} {
			testcheck.Fail[*device.UnsupportedError](t, err)
		}
		if left := testcheck.Get(p.LeaveOneOut(t.Context()))(t); len(left.Mean) != m.N() {
			t.Errorf("leave-one-out of %d rows", len(left.Mean))
		}
	}
}

// TestExpertsTuning checks that stages on few rows, restarts, priors, known noise, several
// targets and a checkpoint work with experts.
func TestExpertsTuning(t *testing.T) {
	d := synthetic(400)
	d.NoiseVariance = cycled(d.N, 1.0, 2, 3)
	o := problem.Options{Mean: "zero", Kernel: "matern52(ard)", Experts: "kmeans:3", StdErrors: true, Settings: hyperopt.Settings{Coarse: hyperopt.CoarseOn, Restarts: 1, Seed: 2}}
	want := mustFit(t, d, o)
	o.Checkpoint = filepath.Join(t.TempDir(), "ck")
	task := mustPrepare(t, d, o)
	k := 30
	if _, err := Run(t.Context(), task, failing{backend, &k, &device.LostError{Device: "cuda:0", Err: errors.New("gone")}}); err == nil || k > 0 {
		t.Fatalf("the fit did not fail: %v", err)
	}
	out := testcheck.Get(Run(t.Context(), task, backend))(t)
	defer out.Close()
	if out.Report.NLML != want.Report.NLML || out.Report.Evaluations != want.Report.Evaluations {
		t.Errorf("continued: NLML %v with %+v, undisturbed %v with %+v", out.Report.NLML, out.Report.Evaluations, want.Report.NLML, want.Report.Evaluations)
	}
	if want.Report.StdErrors == nil || want.Report.StdErrors.Failure != "" {
		t.Errorf("standard errors %+v", want.Report.StdErrors)
	}
	d.NoiseVariance = nil
	d.TargetName, d.TargetNames = "", []string{"u", "v"}
	d.Y = append(d.Y, d.X[:d.N]...)
	two := mustFit(t, d, problem.Options{Mean: "zero", Kernel: "rbf", Experts: "kmeans:2"})
	if len(two.Report.Targets) != 2 || len(divided(t, two.Model).Sizes) != 2 {
		t.Errorf("two targets: %+v", two.Report.Experts)
	}
	scores, err := CrossValidate(t.Context(), mustPrepare(t, synthetic(200), problem.Options{Mean: "zero", Kernel: "rbf", Experts: "kmeans:2"}), backend, nil, problem.CrossValidation{Folds: 3, Seed: 1})
	if err != nil || len(scores.Folds) != 3 {
		t.Errorf("cross-validation: %v", err)
	}
}

// TestExpertsGradient compares the gradient with experts, also of kernels whose matrix has a
// low rank, with central differences.
func TestExpertsGradient(t *testing.T) {
	d := synthetic(60)
	for _, text := range []string{"linear(ard)", "poly(2)", "rbf(ard) + linear", "matern52*periodic"} {
		o := problem.Options{Kernel: text, Mean: "linear", Experts: "kmeans:3"}
		at := evaluate(t, d, o)
		value := func(name string, by float64) float64 {
			o := o
			o.Set = []problem.Assignment{{Name: name, Value: at.Parameters[name] * math.Exp(by), Given: true}}
			return evaluate(t, d, o).NLML
		}
		for name, g := range at.GradientLog {
			const h = 1e-4 // the truncation of the differences is h²/6 times the third derivative
			want := (value(name, h) - value(name, -h)) / (2 * h)
			testcheck.Within(t, g, want, 1e-5*(1+math.Abs(want)), "%s: derivative by %s", text, name)
		}
	}
}

// TestExpertsOptions checks the errors and warnings about the options.
func TestExpertsOptions(t *testing.T) {
	d := islands(2, 30)
	for want, o := range map[string]problem.Options{
		`option experts "kmeans": must be kmeans:K`:    {Experts: "kmeans"},
		`option experts "kmeans:0": must be kmeans:K`:  {Experts: "kmeans:0"},
		"fewer than two for each cluster":              {Experts: "kmeans:31"},
		"option combine nearest: needs option experts": {Combine: experts.Nearest},
		"option expert-rows 5: needs option experts":   {ExpertRows: 5},
		"option expert-rows -1: must not be negative":  {Experts: "kmeans:2", ExpertRows: -1},
		`"average": must be rbcm or nearest`:           {Experts: "kmeans:2", Combine: "average"},
		"no covariance between folds":                  {Experts: "kmeans:2", Objective: problem.CV},
	} {
		wantOption(t, d, o, want)
	}
	job := mustPrepare(t, d, problem.Options{Kernel: "rbf", Mean: "zero", Experts: "kmeans:2", ExpertRows: 10})
	if w := job.Warnings(); len(w) == 0 || !strings.Contains(w[0], "too many rows for one expert") || job.LargestMatrix() > 10 {
		t.Errorf("warnings %q, largest %d", w, job.LargestMatrix())
	}
	one, many := mustPrepare(t, d, problem.Options{Kernel: "rbf", Mean: "zero"}).Plan(backend), job.Plan(backend)
	if many.FlopsValue > one.FlopsValue/30 || many.N != one.N || many.HostBytes() == 0 {
		t.Errorf("plan %+v, without experts %+v", many, one)
	}
}

// TestExpertsAdvice checks that a table too large for the memory leads to local experts,
// which then hold it.
func TestExpertsAdvice(t *testing.T) {
	d := synthetic(4500)
	b := freeMemory{backend, 150 << 20}
	exact, local := mustPrepare(t, d, problem.Options{Kernel: "rbf", Mean: "zero"}), mustPrepare(t, d, problem.Options{Kernel: "rbf", Mean: "zero", Experts: "kmeans:3"})
	testcheck.Fail[*device.MemoryError](t, exact.CheckMemory(b), "divide the rows among local experts, which is an approximation (option experts kmeans:3)")
	testcheck.Do(t, local.CheckMemory(b))
	testcheck.Fail[*device.MemoryError](t, local.CheckMemory(freeMemory{backend, 10 << 20}), "more local experts with fewer rows each")
}
