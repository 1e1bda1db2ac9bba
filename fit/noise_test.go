package fit

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"gpfit/device"
	"gpfit/fit/problem"
	"gpfit/fit/summary"
	"gpfit/fit/tuning"
	"gpfit/gp"
	"gpfit/graph"
	"gpfit/hyperopt"
	"gpfit/internal/matrixrows"
	"gpfit/internal/testcheck"
	"gpfit/kernel"
)

// twoLabs makes rows of two groups: "good" with noise 2, "poor" with noise 20.
func twoLabs(n int) problem.Data {
	d := synthetic(n)
	rng := rand.New(rand.NewPCG(5, 6))
	d.NoiseGroupColumn = "lab"
	for i := range n {
		label, std := "good", 2.0
		if i%3 == 0 {
			label, std = "poor", 20
		}
		d.NoiseGroup = append(d.NoiseGroup, label)
		d.Y[i] = 500 + 80*math.Sin(d.X[3*i]/150) + 3*(d.X[3*i+2]-288) + std*rng.NormFloat64()
	}
	return d
}

func TestNoiseGroups(t *testing.T) {
	d := twoLabs(240)
	d.Test = every(4, 0, d.N)
	out := mustFit(t, d, problem.Options{Mean: "zero", Kernel: "rbf(ard)"})
	r := out.Report
	for label, want := range map[string]float64{"good": 2, "poor": 20} {
		// The estimate from 60 rows or more is within a quarter.
		testcheck.Within(t, math.Sqrt(r.ParametersOriginalUnits[graph.NoiseName(label)]), want, 0.25*want, "noise of %q", label)
	}
	plain := d
	plain.NoiseGroup, plain.NoiseGroupColumn = nil, ""
	one := mustFit(t, plain, problem.Options{Mean: "zero", Kernel: "rbf(ard)"}).Report
	if r.NLML > one.NLML-20 || float64(r.Test.NLPD) > float64(one.Test.NLPD)-0.2 {
		t.Errorf("NLML %v and held-out NLPD %v, with one variance %v and %v", r.NLML, float64(r.Test.NLPD), one.NLML, float64(one.Test.NLPD))
	}
	// The scores once more, from the model and the held-out rows' labels.
	p := testcheck.Get(out.Model.Condition(t.Context(), backend))(t)
	defer p.Close()
	pred := testcheck.Get(p.PredictNoise(t.Context(), d.X, d.N, gp.RowNoise{Group: d.NoiseGroup}))(t)
	nlpd := 0.0
	for i, y := range d.Y {
		if d.Test[i] {
			z := (y - pred.Mean[i]) / pred.Std[i]
			nlpd += (z*z/2 + math.Log(pred.Std[i]*math.Sqrt(2*math.Pi))) / 60
		}
	}
	testcheck.Within(t, float64(r.Test.NLPD), nlpd, 1e-9, "NLPD")
	// One name fixes all of them.
	fixed := mustFit(t, d, problem.Options{Kernel: "rbf", Mean: "zero", Fix: []problem.Assignment{{Name: "noise_variance", Value: 0.01, Given: true}}}).Report
	if !near(fixed.Parameters["noise_variance[good]"], 0.01, 1e-14) || !near(fixed.Parameters["noise_variance[poor]"], 0.01, 1e-14) {
		t.Errorf("fixed variances %v", fixed.Parameters)
	}
}

// knownLabs is twoLabs with known variances in place of groups.
func knownLabs(n int) problem.Data {
	d := twoLabs(n)
	for _, label := range d.NoiseGroup {
		d.NoiseVariance = append(d.NoiseVariance, map[string]float64{"good": 4, "poor": 400}[label])
	}
	d.NoiseGroup, d.NoiseGroupColumn, d.NoiseColumn = nil, "", "variance"
	return d
}

// TestKnownNoise tests known variances alone, and with an estimated part that the data do not need.
// In both cases, a·y + b with variances times a² gives the same result.
func TestKnownNoise(t *testing.T) {
	d := knownLabs(240)
	e := d
	e.Y, e.NoiseVariance = make([]float64, d.N), make([]float64, d.N)
	for i := range d.N {
		e.Y[i], e.NoiseVariance[i] = 7-10*d.Y[i], 100*d.NoiseVariance[i]
	}
	for _, o := range []problem.Options{{NoNoise: true}, {}} {
		r, s := mustFit(t, d, o), mustFit(t, e, o)
		if !near(s.Report.NLML, r.Report.NLML, 1e-6) {
			t.Errorf("NLML %v, of a·y + b %v", r.Report.NLML, s.Report.NLML)
		}
		v, estimated := r.Report.ParametersOriginalUnits["noise_variance"]
		if estimated == o.NoNoise || v > 4 {
			t.Errorf("estimated variance %v beside the true ones of 4 and 400", v)
		}
		if r.Model.Noise.Column != "variance" || len(r.Model.TrainNoise) != d.N {
			t.Errorf("noise of the model: %+v, %d rows", r.Model.Noise, len(r.Model.TrainNoise))
		}
	}
}

// TestWeights compares rows of weight 3, which are means of three observations, with a row for each
// observation: the posterior is the same, and the likelihoods differ by the density of the
// differences within a row. A row of weight 0 is left out.
func TestWeights(t *testing.T) {
	means, single := synthetic(40), problem.Data{D: 3}
	o := problem.Options{Kernel: "rbf", Standardize: gp.StandardizeNone, Mean: "zero", Set: assignments(map[string]float64{"lengthscale": 300, "signal_variance": 4e3, "noise_variance": 40})}
	within := 0.0 // the logarithm of that density: the noise of a mean has a third of the variance
	for i := range means.N {
		count := 1 + 2*(i%2)
		for k := range count {
			single.X, single.Y = append(single.X, means.X[3*i:3*i+3]...), append(single.Y, means.Y[i]+float64(7*(k-count/2)))
			single.N++
		}
		means.Weight = append(means.Weight, float64(count))
		within -= float64(count-1)/2*math.Log(2*math.Pi*40) + math.Log(float64(count))/2 + 98*float64(count/3)/(2*40)
	}
	one, all := evaluate(t, means, o), evaluate(t, single, o)
	testcheck.Within(t, one.NLML-within, all.NLML, 1e-10*all.NLML, "NLML")

	fixed := o
	fixed.Fix, fixed.Set = fixed.Set, nil
	held := means
	held.Test = every(7, 2, means.N)
	held.Weight = slices.Clone(means.Weight)
	held.Weight[1] = 0
	out := mustFit(t, held, fixed)
	kept := mustFit(t, held.Rows(append([]int{0}, matrixrows.All(40)[2:]...)), fixed).Report
	if r := out.Report; len(r.Warnings) == 0 || r.Warnings[0] != "left out 1 of 40 rows: their weight is 0" || r.NLML != kept.NLML || r.Test.NLPD != kept.Test.NLPD {
		t.Errorf("NLML %v, without the row %v; warnings %q", r.NLML, kept.NLML, r.Warnings)
	}
	// The held-out scores once more, from the model and the rows' weights.
	p := testcheck.Get(out.Model.Condition(t.Context(), backend))(t)
	defer p.Close()
	pred := testcheck.Get(p.PredictNoise(t.Context(), means.X, means.N, gp.RowNoise{Weight: means.Weight}))(t)
	nlpd, rows := 0.0, 0
	for i, y := range means.Y {
		if held.Test[i] {
			v := pred.StdLatent[i]*pred.StdLatent[i] + 40/means.Weight[i]
			nlpd, rows = nlpd+(y-pred.Mean[i])*(y-pred.Mean[i])/(2*v)+math.Log(2*math.Pi*v)/2, rows+1
		}
	}
	testcheck.Within(t, float64(out.Report.Test.NLPD), nlpd/float64(rows), 1e-9, "NLPD")

	wrong := means
	wrong.Weight = slices.Clone(means.Weight)
	wrong.Weight[3] = -1
	_, err := problem.New(wrong, problem.Options{Kernel: "rbf", Mean: "zero"})
	testcheck.Fail[*problem.DataError](t, err, `the weight of row 4 (from 1), column "weight", is -1`)
	wrong.Weight = make([]float64, wrong.N)
	_, err = problem.New(wrong, problem.Options{Kernel: "rbf", Mean: "zero"})
	testcheck.Fail[*problem.DataError](t, err, "all weights are zero")
	means.NoiseVariance = means.Weight
	wantOption(t, means, problem.Options{Kernel: "rbf", Mean: "zero"}, "option weight-column: divides the estimated noise variance")
}

// TestGroupsAreKnown checks that fixed variances of groups are equivalent to known ones.
func TestGroupsAreKnown(t *testing.T) {
	d := twoLabs(60)
	set := []problem.Assignment{{Name: "lengthscale", Value: 1.5, Given: true}, {Name: "signal_variance", Value: 0.7, Given: true}}
	groups := evaluate(t, d, problem.Options{Kernel: "rbf", Mean: "zero", Set: append(set, problem.Assignment{Name: "noise_variance[good]", Value: 0.02, Given: true}, problem.Assignment{Name: "noise_variance[poor]", Value: 0.3, Given: true})})
	_, std := stat.PopMeanStdDev(d.Y, nil)
	known := d
	known.NoiseGroup = nil
	for _, label := range d.NoiseGroup {
		known.NoiseVariance = append(known.NoiseVariance, std*std*map[string]float64{"good": 0.02, "poor": 0.3}[label])
	}
	alone := evaluate(t, known, problem.Options{Kernel: "rbf", Mean: "zero", Set: set, NoNoise: true})
	if !near(alone.NLML, groups.NLML, 1e-12) || !near(alone.GradientLog["lengthscale"], groups.GradientLog["lengthscale"], 1e-9) {
		t.Errorf("NLML %v with groups, %v with the same variances known", groups.NLML, alone.NLML)
	}
}

// TestInterpolation checks that the posterior without noise interpolates the targets,
// and that an error gives advice if it cannot.
func TestInterpolation(t *testing.T) {
	d := synthetic(60)
	out := mustFit(t, d, problem.Options{Kernel: "matern32(ard)", NoNoise: true, Mean: "linear"})
	if _, ok := out.Report.Parameters["noise_variance"]; ok || len(out.Report.GradientLog) != 3 {
		t.Errorf("parameters %v", out.Report.Parameters)
	}
	pred := predictAt(t, out.Model, d.X)
	for i, y := range d.Y {
		// Σ has a condition number of about 1e5; the error of variances is its square root.
		if math.Abs(pred.Mean[i]-y) > 1e-7*100 || pred.Std[i] > 1e-3 || pred.Std[i] != pred.StdLatent[i] {
			t.Errorf("row %d: %v ± %v (latent %v), target %v", i, pred.Mean[i], pred.Std[i], pred.StdLatent[i], y)
		}
	}
	copy(d.X[30:33], d.X[:3]) // a repeated row
	for what, run := range map[string]func(*tuning.Job) error{
		"fit":      func(task *tuning.Job) error { _, err := Run(t.Context(), task, backend); return err },
		"evaluate": func(task *tuning.Job) error { _, err := Evaluate(t.Context(), task, backend, nil); return err },
	} {
		task := mustPrepare(t, d, problem.Options{Mean: "zero", Kernel: "matern32", NoNoise: true})
		if err := run(task); err == nil || !strings.Contains(err.Error(), "leave out option noise none") || strings.Contains(err.Error(), "raise") {
			t.Errorf("%s: error %v", what, err)
		}
	}
}

func TestNoiseErrors(t *testing.T) {
	refuses(t, func() problem.Data { return twoLabs(30) }, map[string]refusal{
		"short":        {func(d *problem.Data) { d.NoiseGroup = d.NoiseGroup[1:] }, problem.Options{Kernel: "rbf", Mean: "zero"}, "the list of noise groups has 29 rows, but the table has 30"},
		"many":         {func(d *problem.Data) { d.NoiseGroup = strings.Split("abcdefghijklmnopqrstuvwxyz0123", "") }, problem.Options{Kernel: "rbf", Mean: "zero"}, `column "lab" has 30 noise groups`},
		"held out":     {func(d *problem.Data) { d.NoiseGroup[4] = "other"; d.Test = make([]bool, 30); d.Test[4] = true }, problem.Options{Kernel: "rbf", Mean: "zero"}, `"other" (column "lab") occurs only in held-out rows`},
		"negative":     {func(d *problem.Data) { d.NoiseColumn, d.NoiseVariance = "v", cycled(30, 0, 0, 0, 0, 0, 0, -2.0) }, problem.Options{Kernel: "rbf", Mean: "zero"}, `row 7 (from 1), column "v", is -2`},
		"NaN":          {func(d *problem.Data) { d.NoiseVariance = make([]float64, 30); d.NoiseVariance[29] = math.NaN() }, problem.Options{Kernel: "rbf", Mean: "zero"}, "row 30"},
		"none":         {func(*problem.Data) {}, problem.Options{Kernel: "rbf", Mean: "zero", NoNoise: true}, "option noise none: cannot be combined with noise groups"},
		"zero":         {func(d *problem.Data) { d.NoiseGroup = nil }, problem.Options{Kernel: "rbf", Mean: "zero", Fix: []problem.Assignment{{Name: "noise_variance", Value: 0, Given: true}}}, "option noise none fits without noise"},
		"no parameter": {func(d *problem.Data) { d.NoiseGroup = nil }, problem.Options{Kernel: "rbf", Mean: "zero", NoNoise: true, Fix: []problem.Assignment{{Name: "noise_variance", Value: 1, Given: true}}}, "no such parameter"},
	})
}

// shortScale starts a fit at the optimum of white noise at which the kernel, and not the
// noise variance, explains the targets.
var shortScale = []problem.Assignment{{Name: "lengthscale", Value: 1e-3, Given: true}, {Name: "noise_variance", Value: 1e-8, Given: true}}

// TestDegenerate checks that a fit to noise that interpolates is recognized by its
// leave-one-out errors, which equal the mean's.
func TestDegenerate(t *testing.T) {
	small := []problem.Interval{{Name: "noise_variance", Lo: 1e-9, Hi: 1e-7}} // else noise and signal trade places
	r := mustFit(t, white(120), problem.Options{Mean: "zero", Kernel: "rbf", Set: shortScale, Bounds: small, Settings: hyperopt.Settings{Coarse: hyperopt.CoarseOff}}).Report
	i := r.Interpolation
	if i == nil || !i.Degenerate || i.LeaveOneOut == nil || math.Abs(i.LeaveOneOut.RMSEStandardized-1) > 0.1 || i.Condition == nil || *i.Condition > 100 {
		t.Fatalf("%+v", i)
	}
	warnings := strings.Join(r.Warnings, "\n")
	testcheck.Words(t, warnings, "option noise-floor 0.01", "option prior", "condition number")
	if i.NoiseFloor != 0.01 || strings.Count(warnings, "interpolator") != 1 || r.Verdict.Level != summary.Poor || r.Verdict.Next.Options["noise-floor"] != "0.01" {
		t.Errorf("floor %v, warnings %q, verdict %+v", i.NoiseFloor, warnings, r.Verdict)
	}
	// The advice works: the same start with the floor ends at another optimum.
	r = mustFit(t, white(120), problem.Options{Mean: "zero", Kernel: "rbf", NoiseFloor: problem.NoiseFloor{Variance: 0.01}}).Report
	if r.Interpolation != nil || r.Parameters["noise_variance"] < 0.5 {
		t.Errorf("%+v, %v", r.Interpolation, r.Parameters)
	}
}

// TestExactTargets checks that a fit to targets without noise is not called degenerate.
func TestExactTargets(t *testing.T) {
	d := idle(60, 2)
	for i := range d.N {
		d.Y[i] = math.Sin(d.X[2*i]) + 0.1*math.Cos(d.X[2*i+1])
	}
	r := mustFit(t, d, problem.Options{Mean: "zero", Kernel: "matern52(ard)"}).Report
	if i := r.Interpolation; i == nil || i.Degenerate || i.NoiseFloor != 0 || !i.AtBound {
		t.Fatalf("%+v, %v", i, r.Parameters)
	}
	warnings := strings.Join(r.Warnings, "\n")
	if testcheck.Words(t, warnings, "suits targets without noise"); strings.Count(warnings, "interpolator") != 1 || strings.Contains(warnings, "a smaller value") {
		t.Errorf("%q", warnings)
	}
}

// TestNoInterpolation checks fits that the judgement does not concern.
func TestNoInterpolation(t *testing.T) {
	known := white(40)
	known.NoiseVariance = cycled(40, 1.0)
	for name, r := range map[string]summary.Report{
		"noisy":       mustFit(t, idle(60, 2), problem.Options{Mean: "zero", Kernel: "rbf"}).Report,
		"known noise": mustFit(t, known, problem.Options{Kernel: "rbf", Mean: "zero", Set: shortScale}).Report,
		"no noise":    mustFit(t, idle(40, 1), problem.Options{Mean: "zero", Kernel: "matern12", NoNoise: true}).Report,
		"fixed":       mustFit(t, white(40), problem.Options{Kernel: "rbf", Mean: "zero", Fix: shortScale}).Report,
	} {
		if r.Interpolation != nil {
			t.Errorf("%s: %+v", name, r.Interpolation)
		}
	}
}

// TestNoiseFloor checks the floor's units, and the options that contradict it.
func TestNoiseFloor(t *testing.T) {
	d := white(80)
	r := mustFit(t, d, problem.Options{Mean: "zero", Kernel: "rbf", NoiseFloor: problem.NoiseFloor{Variance: 20, Original: true}}).Report
	if got := r.ParametersOriginalUnits["noise_variance"]; math.Abs(got-20) > 1e-9 || !slices.Contains(r.AtBound, "noise_variance") {
		t.Errorf("noise variance %v, at bound %v", got, r.AtBound)
	}
	r = mustFit(t, d, problem.Options{Mean: "zero", Kernel: "rbf", NoiseFloor: problem.NoiseFloor{Variance: 2}}).Report
	testcheck.Within(t, r.Parameters["noise_variance"], 2, 1e-12, "noise variance")
	// A fit from a model keeps the floor of its fit, unless an option speaks of the noise.
	for text, want := range map[string]float64{"20:original": 20 / (r.ParametersOriginalUnits["noise_variance"] / r.Parameters["noise_variance"]), "2": 2} {
		from := modelOf(t, mustFit(t, d, problem.Options{Mean: "zero", Kernel: "rbf", NoiseFloor: testcheck.Get(problem.ParseNoiseFloor(text))(t)}))
		for name, c := range map[string]struct {
			o     problem.Options
			floor float64
		}{
			"kept":    {problem.Options{}, want},
			"another": {problem.Options{NoiseFloor: problem.NoiseFloor{Variance: 3}}, 3},
			"none":    {problem.Options{NoiseFloor: problem.NoNoiseFloor}, 1e-9},
			"bounds":  {problem.Options{Bounds: []problem.Interval{{Name: "noise_variance", Lo: 0.1, Hi: 9}}}, 0.1},
		} {
			c.o.From = from
			j := mustPrepare(t, d, c.o)
			if got := j.Params.Free[j.Params.Find("noise_variance")[0]].Lower; math.Abs(got-c.floor) > 1e-9*c.floor {
				t.Errorf("%s, %s: floor %v, want %v", text, name, got, c.floor)
			}
		}
	}
	grouped := d
	grouped.NoiseGroup = cycled(d.N, "a", "b")
	r = mustFit(t, grouped, problem.Options{Mean: "zero", Kernel: "rbf", NoiseFloor: problem.NoiseFloor{Variance: 2}}).Report
	testcheck.Within(t, r.Parameters["noise_variance[a]"], 2, 1e-12, "noise variance of a")
	testcheck.Within(t, r.Parameters["noise_variance[b]"], 2, 1e-12, "noise variance of b")
	// Tied groups have one bound.
	mustFit(t, grouped, problem.Options{Mean: "zero", Kernel: "rbf", NoiseFloor: problem.NoiseFloor{Variance: 2}, Ties: []problem.Tie{{Name: "noise_variance[b]", Source: "noise_variance[a]"}}})
	for want, o := range map[string]problem.Options{
		"must be a positive":           {NoiseFloor: problem.NoiseFloor{Variance: -1}},
		"option noise none":            {NoiseFloor: problem.NoiseFloor{Variance: 1}, NoNoise: true},
		"option bounds":                {NoiseFloor: problem.NoiseFloor{Variance: 1}, Bounds: []problem.Interval{{Name: "noise_variance", Lo: 0.1, Hi: 5}}},
		"the value 0.5":                {NoiseFloor: problem.NoiseFloor{Variance: 1}, Set: []problem.Assignment{{Name: "noise_variance", Value: 0.5, Given: true}}},
		"the value 0.1 of noise_varia": {NoiseFloor: problem.NoiseFloor{Variance: 1}, Fix: []problem.Assignment{{Name: "noise_variance"}}},
		"upper bound 100":              {NoiseFloor: problem.NoiseFloor{Variance: 1e3}},
	} {
		_, err := Prepare(d, o, problem.Events{})
		var option *problem.OptionError
		if !errors.As(err, &option) || option.Option != "noise-floor" || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	two := d
	two.TargetNames, two.Y = []string{"a", "b"}, append(append([]float64{}, d.Y...), d.Y...)
	if _, err := Prepare(two, problem.Options{Kernel: "rbf", Mean: "zero", NoiseFloor: problem.NoiseFloor{Variance: 1, Original: true}}, problem.Events{}); err == nil || !strings.Contains(err.Error(), "several targets") {
		t.Errorf("%v", err)
	}
}

// TestCondition compares the condition number of reports with the eigenvalues, for ordered rows
// of a smooth function and for scattered rows with a lengthscale per column.
func TestCondition(t *testing.T) {
	scattered := drawn(5, 1, 80, "a b c y", func(_ int, uniform, _ random) []float64 {
		a, b, c := uniform(), uniform(), uniform()
		return []float64{a, b, c, math.Sin(3*a) + b*c}
	})
	tables := map[string]problem.Data{"rbf(ard)": scattered}
	for _, n := range []int{15, 20, 25, 30, 40} {
		tables[fmt.Sprintf("rbf(dims=0) %d", n)] = drawn(1, 1, n, "x y", func(i int, _, _ random) []float64 {
			x := 4 * float64(i) / float64(n-1)
			return []float64{x, math.Exp(-x) * math.Cos(5*x)}
		})
	}
	for name, d := range tables {
		text, _, _ := strings.Cut(name, " ")
		set := []problem.Assignment{{Name: "noise_variance", Value: 1e-9, Given: true}, {Name: "signal_variance", Value: 50, Given: true}}
		job := mustPrepare(t, d, problem.Options{Mean: "zero", Kernel: text, Set: set})
		s := testcheck.Get(job.Open(t.Context(), backend))(t)
		defer s.Close()
		z := job.Params.Start()
		testcheck.Get(s.Value(t.Context(), z))(t)
		s.WarnCondition(t.Context())
		values, x := job.Params.Values(z), job.Sample.Points
		e := kernel.NewEvaluator(job.Program())
		e.Bind(values[:len(values)-1])
		sigma, row := mat.NewSymDense(x.N, nil), make([]float64, x.N)
		for i := range x.N {
			e.Row(row, x, i, x, 0, x.N)
			for j, v := range row[:i+1] {
				sigma.SetSym(i, j, v)
			}
			sigma.SetSym(i, i, row[i]+1e-9)
		}
		var eigen mat.EigenSym
		eigen.Factorize(sigma, false)
		v := eigen.Values(nil)
		want := v[len(v)-1] / v[0]
		if ratio := *s.Condition / want; !(ratio > 0.2 && ratio < 1.5) {
			t.Errorf("%s: condition number %.3g, by eigenvalues %.3g", name, *s.Condition, want)
		}
	}
}

// TestConditionWarning checks that a report states the number of remaining digits if few remain.
func TestConditionWarning(t *testing.T) {
	data := problem.Data{N: 40, D: 1, FeatureNames: []string{"x"}, TargetName: "y"}
	for i := range 40 {
		x := float64(i) / 8
		data.X, data.Y = append(data.X, x), append(data.Y, math.Sin(x))
	}
	for noise, want := range map[float64]bool{0.01: false, 1e-8: false, 1e-13: true} {
		job := mustPrepare(t, data, problem.Options{Kernel: "rbf", Mean: "zero", Fix: []problem.Assignment{{Name: "noise_variance", Value: noise, Given: true}, {Name: "lengthscale", Value: 1, Given: true}}})
		r := testcheck.Get(Evaluate(t.Context(), job, backend, nil))(t)
		if got := strings.Contains(strings.Join(r.Warnings, "\n"), "a condition number of about"); got != want {
			t.Errorf("noise %g: warnings %q", noise, r.Warnings)
		}
	}
}

// TestSingularCauses checks that the cause and the remedy of a singular covariance suit the kernel
// and the rows.
func TestSingularCauses(t *testing.T) {
	once := drawn(1, 1, 40, "x y", func(i int, _, _ random) []float64 { return []float64{float64(i), float64(3*i - 1)} })
	twice := drawn(1, 1, 40, "x y", func(i int, _, _ random) []float64 { return []float64{float64(i / 2), float64(i)} })
	for _, c := range []struct {
		d               problem.Data
		kernel, set     string
		value           float64
		present, absent string
	}{
		{once, "linear", "signal_variance", 1e6, "reduce the signal variance", "lengthscale"},
		{once, "rbf", "lengthscale", 1e6, "shorten the lengthscale", "duplicate"},
		{twice, "rbf", "lengthscale", 1e6, "duplicate rows with a tiny noise_variance, or a lengthscale", "signal variance"},
	} {
		set := []problem.Assignment{{Name: "noise_variance", Value: 1e-16, Given: true}, {Name: c.set, Value: c.value, Given: true}}
		job := mustPrepare(t, c.d, problem.Options{Mean: "zero", Kernel: c.kernel, Set: set})
		_, err := Evaluate(t.Context(), job, backend, nil)
		if testcheck.Fail[*device.NotPDError](t, err, c.present); strings.Contains(err.Error(), c.absent) {
			t.Errorf("%s: %v", c.kernel, err)
		}
	}
}

// TestGradientWarning: a report names the derivatives that rounding leaves few digits.
func TestGradientWarning(t *testing.T) {
	data := problem.Data{N: 40, D: 1, FeatureNames: []string{"x"}, TargetName: "y"}
	for i := range 40 {
		x := float64(i) / 8
		data.X, data.Y = append(data.X, x), append(data.Y, math.Sin(x))
	}
	for _, c := range []struct {
		kernel string
		noise  float64
		want   string
	}{
		{"rbf", 0.01, ""},
		{"linear*linear", 0.01, ""},
		{"linear*linear", 1e-9, "signal_variance"},
		{"linear", 1e-9, ""},
	} {
		for _, objective := range []problem.Criterion{problem.NLML, problem.LOO} {
			job := mustPrepare(t, data, problem.Options{Mean: "zero", Kernel: c.kernel, Objective: objective, Fix: []problem.Assignment{{Name: "noise_variance", Value: c.noise, Given: true}}})
			r := testcheck.Get(Evaluate(t.Context(), job, backend, nil))(t)
			const words = "rounding leaves few digits of the gradient"
			got := strings.Join(r.Warnings, "\n")
			if want := c.want != "" && objective == problem.NLML; strings.Contains(got, words) != want || want && !strings.Contains(got, c.want) {
				t.Errorf("%s, noise %g, %s: warnings %q", c.kernel, c.noise, objective, r.Warnings)
			}
		}
	}
}
