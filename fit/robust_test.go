package fit

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"gpfit/device"
	"gpfit/fit/problem"
	"gpfit/fit/summary"
	"gpfit/fit/tuning"
	"gpfit/gp"
	"gpfit/hyperopt"
	"gpfit/hyperopt/descent"
	"gpfit/internal/testcheck"
)

// spoilt returns rows of a smooth function, one in twelve of which is far off, and their numbers.
func spoilt(n int) (d problem.Data, off []int) {
	d = drawn(3, 8, n, "a b y", func(i int, uniform, normal random) []float64 {
		a, b := 4*uniform()-2, 4*uniform()-2
		return []float64{a, b, wavy(a, b) + 0.1*normal()}
	})
	for i := 5; i < n; i += 12 {
		d.Y[i] += []float64{2, -3, 1.5}[i/12%3]
		off = append(off, i)
	}
	return d, off
}

func wavy(a, b float64) float64 { return math.Sin(2*a) + b*b/2 }

// TestRobust checks that a robust fit finds the rows that are far off, that its
// errors are far smaller, what it says of the rows, and that the file predicts the same.
func TestRobust(t *testing.T) {
	d, off := spoilt(150)
	o := problem.Options{Kernel: "rbf(ard)", Mean: "linear", LeaveOneOut: true}
	plain := mustFit(t, d, o)
	o.Robust = true
	out := mustFit(t, d, o)
	var rows []int
	left := testcheck.Get(out.Posterior().LeaveOneOut(t.Context()))(t)
	for _, row := range out.Report.Robust.Rows {
		rows = append(rows, row.Row)
		shared := math.Sqrt(left.Std[row.Row]*left.Std[row.Row] - wider(out))                                                      // the share of rows that do not fit widens all
		testcheck.Within(t, row.Deviations[0], left.Residual[row.Row]/shared, 1e-6*math.Abs(row.Deviations[0]), "row %d", row.Row) // digits lost in the difference of variances
	}
	// One of 137 normal errors may be so large that a variance of its own is worth its prior.
	if rows = slices.DeleteFunc(rows, func(i int) bool { return !slices.Contains(off, i) }); !slices.Equal(rows, off) || len(out.Report.Robust.Rows) > len(off)+1 {
		t.Errorf("rows %v, want %v", rows, off)
	}
	testcheck.Words(t, out.Report.Text(), " of 150, by their row from 0 and standard deviations off: 125 (-")
	if s := out.Report.Search; s.Kind != summary.SearchAlone || s.Starts != 1 || s.Chance != nil {
		t.Errorf("%+v", s)
	}
	rmse := func(m *gp.Model) float64 {
		p, sum := predictAt(t, m, d.X), 0.0
		for i, v := range p.Mean {
			sum += math.Pow(v-wavy(d.X[2*i], d.X[2*i+1]), 2) / float64(d.N)
		}
		return math.Sqrt(sum)
	}
	if a, b := rmse(plain.Model), rmse(out.Model); b > a/3 {
		t.Errorf("RMSE %v, without the option %v", b, a)
	}
	path := filepath.Join(t.TempDir(), "m")
	testcheck.Do(t, out.SaveModel(path, false))
	loaded := testcheck.Get(gp.Load(path))(t)
	sameNumbers(t, "means of the file", predictAt(t, loaded, d.X).Mean, predictAt(t, out.Model, d.X).Mean)
}

// wider returns what observations that do not fit add to the variance of each prediction of a robust fit.
func wider(out *Outcome) float64 {
	rows, sum, scale := out.Report.Robust.Rows, 0.0, out.Model.Scaling.YScale
	for _, row := range rows {
		sum += row.NoiseVariance
	}
	k, n := float64(len(rows)), float64(out.Model.N())
	return (k + 1) / (n + 2) * sum / k * scale * scale
}

// TestRobustScores checks that the verdict on a robust fit rests on the rows that fit, by leave-one-out,
// on held-out rows and on folds, and that the scores of all rows are there, too.
func TestRobustScores(t *testing.T) {
	d, off := spoilt(150)
	o := problem.Options{Kernel: "rbf(ard)", Mean: "constant", Robust: true}
	out := mustFit(t, d, o)
	left := testcheck.Get(out.Posterior().LeaveOneOut(t.Context()))(t)
	squares, n := 0.0, 0
	for i, r := range left.Residual {
		if !slices.Contains(out.Model.Noise.Outlying, i) {
			squares += r * r
			n++
		}
	}
	l := out.Report.Scores.LeaveOneOut
	fitting := l.Targets[0].Fitting
	testcheck.Within(t, fitting.RMSE, math.Sqrt(squares/float64(n)), 1e-12, "RMSE of %d rows", n)
	if fitting.N != n || n > 150-len(off) || l.RMSE < 4*fitting.RMSE || math.Abs(l.Targets[0].RMSE/l.RMSE-1) > 1e-12 {
		t.Errorf("%+v of all rows, %+v of %d rows", l, fitting, n)
	}
	testcheck.Words(t, out.Report.Verdict.Headline, fmt.Sprintf("good: on %d training rows left out one by one, %d outlying rows aside, the error (RMSE) is %.4g,", n, 150-n, fitting.RMSE))
	cv := testcheck.Get(CrossValidate(t.Context(), mustPrepare(t, d, o), backend, out.Report.Parameters, problem.CrossValidation{Folds: 5}))(t)
	if f := cv.Fitting; f.N > 150-len(off) || f.N < 150-len(off)-3 || math.Abs(f.RMSE/fitting.RMSE-1) > 0.2 || cv.RMSE < 4*f.RMSE {
		t.Errorf("folds: RMSE %v, %+v", cv.RMSE, f)
	}
	d.Test = every(5, 2, d.N) // with some of the rows that are far off
	held := mustFit(t, d, o).Report
	wrong := 0
	for _, i := range off {
		if d.Test[i] {
			wrong++
		}
	}
	if f := held.Test.Fitting; wrong == 0 || f.N > held.Test.N-wrong || f.N < held.Test.N-wrong-1 || held.Test.RMSE < 4*f.RMSE || held.Verdict.Level != summary.Good {
		t.Errorf("%d rows off; all rows %+v, that fit %+v\n%s", wrong, held.Test, f, held.Verdict.Text())
	}
}

// TestRobustOptimum checks, for two targets and a mean by least squares, that no other variance of
// a row is better, by evaluations of the objective.
func TestRobustOptimum(t *testing.T) {
	d, off := spoilt(60)
	d.TargetName, d.TargetNames = "", []string{"one", "two"}
	for i := range d.N {
		d.Y = append(d.Y, 0.7*d.Y[i]+d.X[2*i]+0.1*math.Sin(float64(7*i)))
	}
	o := problem.Options{Kernel: "rbf(ard)", Mean: "linear", Robust: true}
	out := mustFit(t, d, o)
	if len(out.Report.Robust.Rows) != len(off) {
		t.Fatalf("rows %v, want %v", out.Report.Robust.Rows, off)
	}
	variance := make([]float64, d.N)
	for _, row := range out.Report.Robust.Rows {
		variance[row.Row] = row.NoiseVariance
	}
	j := mustPrepare(t, d, o)
	at := func(row int, factor float64) float64 {
		v := slices.Clone(variance)
		v[row] *= factor
		s := testcheck.Get(j.On(j.Sample.WithOutlying(v)).Open(t.Context(), backend))(t)
		defer s.Close()
		return testcheck.Get(s.Value(t.Context(), testcheck.Get(j.Params.At(out.Report.Parameters))(t)))(t)
	}
	for _, row := range off {
		const h = 0.1
		below, f, above := at(row, 1-h), at(row, 1), at(row, 1+h)
		// The last search gained less than a tenth of a nat, over all rows.
		if slope, bend := (above-below)/(2*h), (above-2*f+below)/(h*h); !(bend > 0) || slope*slope/(2*bend) > worthSearch {
			t.Errorf("row %d: NLML %v, %v, %v", row, below, f, above)
		}
	}
}

// TestRobustFreak checks that one value of another scale changes nothing but its own row: neither the
// choice of the kernel, nor bounds, nor scores of the others.
func TestRobustFreak(t *testing.T) {
	d := synthetic(100)
	clean := mustFit(t, d, problem.Options{Robust: true})
	for _, freak := range []float64{-3e3, 1e5, -1e12} {
		d := d
		d.Y = slices.Clone(d.Y)
		d.Y[17] = freak
		out := mustFit(t, d, problem.Options{Robust: true})
		r := out.Report
		if len(r.Robust.Rows) != 1+len(clean.Report.Robust.Rows) || r.Robust.Rows[0].Row != 17 || r.Robust.Rows[0].Deviations[0]*freak <= 0 || r.Verdict.Level != summary.Good || r.Kernel != clean.Report.Kernel {
			t.Errorf("%g: rows %+v, kernel %s\n%s", freak, r.Robust, r.Kernel, r.Verdict.Text())
		}
		if r.Choice.Models[0].BIC > clean.Report.Choice.Models[0].BIC+60*math.Abs(math.Log(out.Model.Scaling.YScale/clean.Model.Scaling.YScale))*4+60 {
			t.Errorf("%g: the choice has a BIC of %v", freak, r.Choice.Models[0].BIC)
		}
		a, b := r.Scores.LeaveOneOut.Targets[0].Fitting, clean.Report.Scores.LeaveOneOut
		if math.Abs(a.RMSE/b.RMSE-1) > 0.1 || len(r.Warnings) > len(clean.Report.Warnings) {
			t.Errorf("%g: RMSE %v, without %v; %q", freak, a.RMSE, b.RMSE, r.Warnings)
		}
	}
}

// TestRobustClean checks that the option changes no bit of a fit of rows with normal noise, nor what it
// says of its starts.
func TestRobustClean(t *testing.T) {
	d := smooth(100)
	for _, kernel := range []string{"rbf(ard)", problem.AutoKernel} {
		plain, robust := mustFit(t, d, problem.Options{Mean: "zero", Kernel: kernel}), mustFit(t, d, problem.Options{Mean: "zero", Kernel: kernel, Robust: true})
		sameNumbers(t, "parameters", robust.Model.Theta, plain.Model.Theta)
		testcheck.Words(t, robust.Report.Text(), "outlying rows          0 of 100", plain.Report.Search.Text)
	}
}

// TestRobustFolds checks that rows of a fold have no part in the search, and that the folds of a
// robust fit predict the rows that fit better than the folds of another.
func TestRobustFolds(t *testing.T) {
	d, _ := spoilt(100)
	o := problem.Options{Mean: "zero", Kernel: "rbf(ard)"}
	score := func(robust, refit bool) float64 {
		o.Robust = robust
		cv := testcheck.Get(CrossValidate(t.Context(), mustPrepare(t, d, o), backend, mustFit(t, d, o).Report.Parameters, problem.CrossValidation{Folds: 5, Refit: refit}))(t)
		return cv.RMSE
	}
	// Rows that are far off keep their errors of about 2, a twelfth of the rows.
	plain, robust, refitted := score(false, false), score(true, false), score(true, true)
	if !(robust < plain && math.Abs(refitted/robust-1) < 0.05 && robust > 0.5) {
		t.Errorf("RMSE %v, robust %v, refitted %v", plain, robust, refitted)
	}
}

// TestRobustCancelled checks that an interrupted robust fit has a model.
func TestRobustCancelled(t *testing.T) {
	d, _ := spoilt(80)
	for _, after := range []int{1, 12, 30} {
		ctx, cancel := context.WithCancel(t.Context())
		events, count := problem.Events{}, 0
		events.OnIteration = func(descent.Iteration) {
			if count++; count == after {
				cancel()
			}
		}
		out, err := Run(ctx, watched(t, d, problem.Options{Mean: "zero", Kernel: "rbf(ard)", Robust: true}, events), backend)
		if !errors.Is(err, context.Canceled) || out == nil || out.Report.Robust == nil {
			t.Fatalf("after %d iterations: %v", after, err)
		}
		out.Close()
	}
}

func TestRobustOptions(t *testing.T) {
	d := synthetic(40)
	wantOption(t, d, problem.Options{Kernel: "rbf", Mean: "zero", Robust: true, Objective: problem.LOO}, "objective nlml")
	wantOption(t, d, problem.Options{Kernel: "rbf", Mean: "zero", Robust: true, Experts: "kmeans:2"}, "leave out one")
	_, err := Profile(t.Context(), mustPrepare(t, d, problem.Options{Kernel: "rbf", Mean: "zero", Robust: true}), ProfileOptions{}, backend)
	testcheck.Fail[*problem.OptionError](t, err, "profile a fit without")
}

// TestRobustDrops checks that no row keeps a variance of its own of which the parameters could take the place: of rows
// with heavy-tailed noise, tuned again without the variance of any one row, the objective and the prior are larger.
func TestRobustDrops(t *testing.T) {
	rng := rand.New(rand.NewPCG(44, 27))
	d := drawn(3, 8, 60, "a b y", func(int, random, random) []float64 {
		a, b := 4*rng.Float64()-2, 4*rng.Float64()-2
		return []float64{a, b, wavy(a, b) + 0.1*rng.NormFloat64()/math.Pow(rng.ExpFloat64(), 0.8)}
	})
	out := mustFit(t, d, problem.Options{Kernel: "rbf(ard)", Mean: "zero", Robust: true})
	rows, j := out.Report.Robust.Rows, mustPrepare(t, d, problem.Options{Kernel: "rbf(ard)", Mean: "zero", Robust: true})
	z := testcheck.Get(j.Params.At(out.Report.Parameters))(t)
	best := func(left []summary.OutlyingRow) float64 {
		variance := make([]float64, d.N)
		for _, row := range left {
			variance[row.Row] = row.NoiseVariance
		}
		w := &tuning.Workplace{Job: j.On(j.Sample.WithOutlying(variance)), Backends: []device.Backend{backend}}
		defer w.Close()
		r := testcheck.Get(hyperopt.Tune(t.Context(), warm{w, z}, j.Settings(backend), nil))(t)
		choose := func(n int) float64 { v, _ := math.Lgamma(float64(n + 1)); return v }
		return r.F + 5*float64(len(left))/60 + choose(60) - choose(len(left)) - choose(60-len(left))
	}
	f := best(rows)
	for k, row := range rows {
		if less := best(slices.Delete(slices.Clone(rows), k, k+1)); less <= f {
			t.Errorf("row %d: %v without its variance, %v with it", row.Row, less, f)
		}
	}
	if len(rows) == 0 {
		t.Error("no row is outlying")
	}
}

// TestRobustHeldOut fits tables of which a twentieth of the targets is off by 5 to 15 standard deviations, also where they
// are held out. Held-out rows have a higher density than in a plain fit, and rows that fit hardly a lower one;
// the report has these densities, and the densities of rows left out, as the mixture gives them.
func TestRobustHeldOut(t *testing.T) {
	for name, f := range map[string]func(a, b float64) float64{"wave": wavy, "plane": func(a, b float64) float64 { return a - 2*b }} {
		off := map[int]bool{}
		d := drawn(3, 8, 150, "a b y", func(i int, uniform, normal random) []float64 {
			a, b := 4*uniform()-2, 4*uniform()-2
			y := f(a, b) + 0.1*normal()
			if i%20 == 7 {
				off[i] = true
				y += 1.5 * (5 + 10*uniform()) * float64(1-i/20%2*2) // 1.5 is about the targets' standard deviation
			}
			return []float64{a, b, y}
		})
		d.Test = every(3, 1, d.N)
		o := problem.Options{Kernel: "rbf(ard)", Mean: "zero", LeaveOneOut: true, Posterior: problem.NoPosterior}
		var clean [2]float64
		var out [2]*Outcome
		for k := range out {
			o.Robust = k == 1
			out[k] = mustFit(t, d, o)
			x, noise, observed, numbers := HeldOut(mustPrepare(t, d, o).Prepared)
			p := testcheck.Get(out[k].Posterior().PredictNoise(t.Context(), x, len(numbers), noise))(t)
			r, scale, nlpd := out[k].Report.Robust, out[k].Model.Scaling.YScale, 0.0
			for i, y := range observed[0] {
				normal := func(noise float64) float64 {
					v := p.StdLatent[i]*p.StdLatent[i] + noise*scale*scale
					return math.Exp(-(y-p.Mean[i])*(y-p.Mean[i])/(2*v)) / math.Sqrt(2*math.Pi*v)
				}
				density := normal(out[k].Model.NoiseVariance)
				if r != nil {
					density = (1-r.Share)*density + r.Share*normal(out[k].Model.NoiseVariance+r.NoiseVariance)
				}
				if nlpd -= math.Log(density); !off[numbers[i]] {
					clean[k] -= math.Log(density)
				}
			}
			testcheck.Within(t, float64(out[k].Report.Test.NLPD), nlpd/50, 1e-8, "%s: NLPD of held-out rows", name)
			left, sum := testcheck.Get(out[k].Posterior().LeaveOneOut(t.Context()))(t), 0.0
			for _, v := range left.LogDensity {
				sum -= v / 100
			}
			testcheck.Within(t, out[k].Report.Scores.LeaveOneOut.NLPD, sum, 1e-6, "%s: NLPD of rows left out", name)
		}
		plain, robust := out[0].Report, out[1].Report
		if !(robust.Test.NLPD < plain.Test.NLPD-0.5 && clean[1] < clean[0]+0.1*50) || robust.Test.Calibration != "" || robust.Verdict.Level != summary.Good || len(robust.Robust.Rows) < 3 {
			t.Errorf("%s: NLPD %v, plain %v; %v and %v of clean rows\n%s", name, robust.Test.NLPD, plain.Test.NLPD, clean[1]/50, clean[0]/50, robust.Verdict.Text())
		}
		testcheck.Words(t, robust.Verdict.Headline, " times that with all rows; the 95 % intervals hold ", " of all 50 rows")
	}
}
