package fit

import (
	"math"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"gpfit/fit/problem"
	"gpfit/fit/summary"
	"gpfit/gp"
	"gpfit/internal/testcheck"
	"gpfit/internal/transform"
)

// lognormal makes rows of a positive target: exp of a smooth function plus noise.
func lognormal(n int, seed uint64) problem.Data {
	rng := rand.New(rand.NewPCG(seed, 12))
	d := problem.Data{N: n, D: 2}
	for range n {
		a, b := 4*rng.Float64()-2, 4*rng.Float64()-2
		d.X = append(d.X, a, b)
		d.Y = append(d.Y, 30*math.Exp(math.Sin(2*a)+0.5*b+0.4*rng.NormFloat64()))
	}
	return d
}

// powers makes rows whose cube roots are normal.
func powers(n int, seed uint64) problem.Data {
	d := lognormal(n, seed)
	for i, y := range d.Y {
		d.Y[i] = math.Pow(4+math.Log(y/30), 3)
	}
	return d
}

// TestTransform computes the density of the targets directly from the parameters that a fit
// reports, and scores of left-out and held-out rows from the model, with coefficients of the mean that
// are parameters or come from least squares, and with noise by group or by weight.
func TestTransform(t *testing.T) {
	groups, weights := cycled(90, "u", "v"), cycled(90, 1.0, 2, 0.5, 3, 1)
	for _, kind := range []transform.Name{transform.Log, transform.BoxCox, transform.YeoJohnson} {
		for k, how := range []gp.Standardize{gp.StandardizeXY, gp.StandardizeNone, gp.StandardizeXY, gp.StandardizeXY} {
			d, fitted := powers(90, 3), problem.MeanFree
			d.Test = every(3, 0, d.N)
			noise := func(r *summary.Report, _ int) float64 { return r.Parameters["noise_variance"] }
			if k > 1 {
				fitted = problem.MeanGLS
			}
			switch k {
			case 2:
				d.NoiseGroup = groups
				noise = func(r *summary.Report, row int) float64 { return r.Parameters["noise_variance["+groups[row]+"]"] }
			case 3:
				d.Weight = weights
				noise = func(r *summary.Report, row int) float64 { return r.Parameters["noise_variance"] / weights[row] }
			}
			out := mustFit(t, d, problem.Options{Kernel: "rbf", Mean: "linear", MeanFit: fitted, TargetTransform: kind, Standardize: how, LeaveOneOut: true, StdErrors: true, Posterior: problem.NoPosterior})
			r, m := out.Report, out.Model
			of, n := m.Scaling.Transform, m.N()
			sigma, rest, volume := mat.NewSymDense(n, nil), mat.NewVecDense(n, nil), 0.0
			x := m.Scaling.Inputs(m.X)
			l, v, b := r.Parameters["lengthscale"], r.Parameters["signal_variance"], m.Mean.Coefficients
			for i := range n {
				for j := range i + 1 {
					u, w := x[2*i]-x[2*j], x[2*i+1]-x[2*j+1]
					sigma.SetSym(i, j, v*math.Exp(-(u*u+w*w)/(2*l*l)))
				}
				sigma.SetSym(i, i, v+noise(&r, m.Row(i)))
				u, lambda := (m.Y[i]-of.Shift)/of.Unit, of.Lambda
				var z, slope float64
				switch {
				case kind == transform.Log || kind == transform.BoxCox && lambda == 0:
					z, slope = math.Log(u), 1/u
				case kind == transform.BoxCox:
					z, slope = (math.Pow(u, lambda)-1)/lambda, math.Pow(u, lambda-1)
				case u >= 0:
					z, slope = (math.Pow(u+1, lambda)-1)/lambda, math.Pow(u+1, lambda-1)
				default:
					z, slope = -(math.Pow(1-u, 2-lambda)-1)/(2-lambda), math.Pow(1-u, 1-lambda)
				}
				rest.SetVec(i, (z-m.Scaling.YMean)/m.Scaling.YScale-b[0]*x[2*i]-b[1]*x[2*i+1]-b[2])
				volume += math.Log(slope / of.Unit / m.Scaling.YScale)
			}
			var chol mat.Cholesky
			chol.Factorize(sigma)
			var alpha mat.VecDense
			testcheck.Do(t, chol.SolveVecTo(&alpha, rest))
			want := mat.Dot(rest, &alpha)/2 + chol.LogDet()/2 + float64(n)/2*math.Log(2*math.Pi) - volume
			testcheck.Within(t, r.NLMLOriginalUnits, want, 1e-12*math.Abs(want), "%s, %d: NLML in original units", kind, k)
			testcheck.Within(t, r.DataFit+r.Complexity+r.Constant+r.Jacobian, r.NLML, 1e-12*math.Abs(r.NLML), "%s: sum of the terms", kind)
			left := testcheck.Get(out.Posterior().LeaveOneOut(t.Context()))(t).Summary()
			testcheck.Within(t, r.Scores.LeaveOneOut.RMSE, left.RMSE, 1e-8*left.RMSE, "%s: RMSE of left-out rows", kind)
			testcheck.Within(t, r.Scores.LeaveOneOut.NLPD, left.NLPD, 1e-9, "%s: NLPD of left-out rows", kind)
			if kind.Tuned() {
				if se := r.StdErrors.Scaled[transform.Parameter]; r.AtBound == nil && !(se > 0.01 && se < 1) || r.ParametersOriginalUnits[transform.Parameter] != of.Lambda {
					t.Errorf("%s: lambda %v with the standard error %v", kind, of.Lambda, se)
				}
			}
			testcheck.Words(t, r.Text(), "target transform       "+string(kind))
			checkTransformedRows(t, out, d)
		}
	}
}

// checkTransformedRows compares the scores of held-out rows, and of folds, with predictions of the
// model once it was written and read.
func checkTransformedRows(t *testing.T, out *Outcome, d problem.Data) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "m.gpfit")
	testcheck.Do(t, out.SaveModel(path, true))
	p := testcheck.Get(testcheck.Get(gp.Load(path))(t).Condition(t.Context(), backend))(t)
	defer p.Close()
	got, nlpd, squares := testcheck.Get(p.PredictNoise(t.Context(), d.X, d.N, gp.RowNoise{Group: d.NoiseGroup, Weight: d.Weight}))(t), 0.0, 0.0
	for i, y := range d.Y {
		if d.Test[i] {
			nlpd += got.Density(i).NegLog(y) / float64(out.Report.Test.N)
			squares += (y - got.Mean[i]) * (y - got.Mean[i]) / float64(out.Report.Test.N)
		}
	}
	testcheck.Within(t, float64(out.Report.Test.NLPD), nlpd, 1e-9, "NLPD of held-out rows")
	testcheck.Within(t, out.Report.Test.RMSE, math.Sqrt(squares), 1e-9*math.Sqrt(squares), "RMSE of held-out rows")
}

// TestTransformAlike checks that boxcox with lambda 0 is log, with 1 none, and that the likelihoods in
// original units do not depend on the units of the target.
func TestTransformAlike(t *testing.T) {
	d := lognormal(80, 5)
	o := problem.Options{Kernel: "rbf", Mean: "constant"}
	fitted := func(d problem.Data, kind transform.Name, fix ...problem.Assignment) *Outcome {
		o.TargetTransform, o.Fix = kind, fix
		return mustFit(t, d, o)
	}
	const nats = 1e-4 // the tolerance of the optimum
	log := fitted(d, transform.Log).Report
	for kind, want := range map[transform.Name]float64{transform.BoxCox: log.NLMLOriginalUnits} {
		r := fitted(d, kind, problem.Assignment{Name: "lambda", Given: true}).Report
		testcheck.Within(t, r.NLMLOriginalUnits, want, nats, "%s with lambda 0", kind)
		one := fitted(d, kind, problem.Assignment{Name: "lambda", Value: 1, Given: true}).Report
		testcheck.Within(t, one.NLMLOriginalUnits, fitted(d, transform.None).Report.NLMLOriginalUnits, nats, "%s with lambda 1", kind)
	}
	scaled := d
	scaled.Y = nil
	for _, y := range d.Y {
		scaled.Y = append(scaled.Y, 1000*y)
	}
	for _, kind := range []transform.Name{transform.Log, transform.BoxCox, transform.YeoJohnson} {
		testcheck.Within(t, fitted(scaled, kind).Report.NLMLOriginalUnits-80*math.Log(1000), fitted(d, kind).Report.NLMLOriginalUnits, nats, "%s in other units", kind)
	}
}

// TestTransformContinues starts a fit from a model, scores folds, and draws from the posterior.
func TestTransformContinues(t *testing.T) {
	d := powers(60, 4)
	o := problem.Options{Kernel: "rbf", Mean: "constant", TargetTransform: transform.BoxCox, Posterior: problem.Laplace, PosteriorDraws: 20}
	job := mustPrepare(t, d, o)
	out := testcheck.Get(Run(t.Context(), job, backend))(t)
	defer out.Close()
	if draws := out.Model.Draws; len(draws.Lambda) != draws.Len() || len(draws.Noise[0]) != 1 || draws.Lambda[0] == draws.Lambda[1] {
		t.Errorf("%d draws of lambda", len(draws.Lambda))
	}
	cv := testcheck.Get(CrossValidate(t.Context(), job, backend, out.Report.Parameters, problem.CrossValidation{Folds: 60}))(t)
	left := testcheck.Get(out.Posterior().LeaveOneOut(t.Context()))(t).Summary()
	testcheck.Within(t, float64(cv.NLPD), left.NLPD, 1e-7, "NLPD of folds of one row")
	testcheck.Within(t, cv.RMSE, left.RMSE, 1e-7*left.RMSE, "RMSE of folds of one row")
	again := mustPrepare(t, d, problem.Options{From: out.Model})
	if again.Options.TargetTransform != transform.BoxCox || again.Params.Named(again.Params.Start())["lambda"] != out.Report.Parameters["lambda"] {
		t.Errorf("the next fit starts with %v, transform %s", again.Params.Named(again.Params.Start()), again.Options.TargetTransform)
	}
	for _, objective := range []problem.Criterion{problem.LOO, problem.CV} {
		one := mustFit(t, d, problem.Options{Kernel: "rbf", Mean: "constant", TargetTransform: transform.YeoJohnson, Objective: objective, Folds: 4})
		if objective == problem.LOO {
			left := testcheck.Get(one.Posterior().LeaveOneOut(t.Context()))(t).Summary()
			testcheck.Within(t, one.Report.Objective+60*math.Log(one.Model.Scaling.Unit()), 60*left.NLPD, 1e-7, "leave-one-out objective")
		} else if s := one.Report.Scores.Objective; !(s.RMSE > 0) || math.Abs(s.Sum-one.Report.Objective) > 1e-9 {
			t.Errorf("scores of the objective's folds %+v", s)
		}
	}
}

// TestTransformRefused checks what a transform cannot be combined with.
func TestTransformRefused(t *testing.T) {
	d := lognormal(30, 1)
	negative, known, several := d, d, d
	negative.Y = append([]float64{}, d.Y...)
	negative.Y[4] = 0
	known.NoiseVariance = make([]float64, 30)
	several.Y, several.TargetNames = append(append([]float64{}, d.Y...), d.Y...), []string{"u", "v"}
	for _, c := range []struct {
		data problem.Data
		o    problem.Options
		want string
	}{
		{negative, problem.Options{Kernel: "rbf", Mean: "zero", TargetTransform: transform.Log}, `the target "y" of row 5 (from 1) is 0: option target-transform log needs positive targets; yeojohnson takes all`},
		{known, problem.Options{Kernel: "rbf", Mean: "zero", TargetTransform: transform.BoxCox}, `in squared units of the target, not of its transformed values`},
		{several, problem.Options{Kernel: "rbf", Mean: "zero", TargetTransform: transform.Log}, "fit each target separately"},
		{d, problem.Options{Kernel: "rbf", Mean: "zero", TargetTransform: "sqrt"}, `option target-transform "sqrt": must be none, log, boxcox, yeojohnson or auto`},
		{d, problem.Options{Kernel: "rbf", Mean: "zero", TargetTransform: transform.Log, NoiseFloor: problem.NoiseFloor{Variance: 2, Original: true}}, "give the number without :original"},
		{d, problem.Options{Kernel: "rbf", Mean: "zero", TargetTransform: transform.BoxCox, Bounds: []problem.Interval{{Name: "lambda", Lo: -1, Hi: 1}}}, "lambda cannot be -1"},
		{d, problem.Options{Kernel: "rbf", Mean: "zero", TargetTransform: transform.YeoJohnson, Set: []problem.Assignment{{Name: "lambda", Value: 3, Given: true}}}, "lambda cannot be 3"},
	} {
		_, err := Prepare(c.data, c.o, problem.Events{})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error %v, want %q", err, c.want)
		}
	}
}

// TestTransformAuto compares the choice with fits of each transform over all rows, unless it took a
// subset, and goes on with the job that ran.
func TestTransformAuto(t *testing.T) {
	type chosen struct {
		data problem.Data
		want transform.Name
	}
	cases := []chosen{{lognormal(120, 2), transform.Log}, {powers(300, 2), transform.BoxCox}, {signed(120), transform.None}}
	if testcheck.Long() {
		cases = append(cases, chosen{powers(700, 2), transform.BoxCox})
	}
	for _, c := range cases {
		c.data.Test = every(4, 0, c.data.N)
		o := problem.Options{Kernel: "rbf", Mean: "constant", TargetTransform: transform.Auto}
		out := mustFit(t, c.data, o)
		chosen := out.Report.TargetTransform
		if chosen.Kind != c.want || out.Job.Options.TargetTransform != map[transform.Name]transform.Name{transform.None: ""}[c.want]+map[bool]transform.Name{true: c.want}[c.want != transform.None] {
			t.Fatalf("%s, of %+v, wants %s", chosen.Kind, chosen.Candidates, c.want)
		}
		testcheck.Words(t, out.Report.Text(), "target transform       "+string(c.want)+", the lowest BIC of ")
		n := float64(out.Report.N)
		for i, one := range chosen.Candidates {
			if one.BIC == nil {
				testcheck.Words(t, one.Error, "needs positive targets")
				continue
			}
			if i > 0 && *one.BIC < *chosen.Candidates[i-1].BIC {
				t.Errorf("candidates %+v are not in order", chosen.Candidates)
			}
			if one.Rows == 500 && n == 525 {
				continue
			}
			o.TargetTransform = one.Kind
			job := mustPrepare(t, c.data, o)
			whole := testcheck.Get(Run(t.Context(), job, backend))(t)
			whole.Close()
			want := float64(job.NumFitted())*math.Log(n) + 2*whole.Report.NLMLOriginalUnits
			testcheck.Within(t, *one.BIC, want, 1e-3, "BIC of %s on %d rows", one.Kind, one.Rows)
		}
		if out.Report.N > 100 {
			continue
		}
		cv := testcheck.Get(CrossValidate(t.Context(), out.Job, backend, out.Report.Parameters, problem.CrossValidation{Folds: out.Report.N}))(t)
		left := testcheck.Get(out.Posterior().LeaveOneOut(t.Context()))(t).Summary()
		testcheck.Within(t, float64(cv.NLPD), left.NLPD, 1e-6, "NLPD of folds of one row")
	}
	job := mustPrepare(t, lognormal(30, 1), problem.Options{Kernel: "rbf", Mean: "zero", TargetTransform: transform.Auto})
	_, err := Evaluate(t.Context(), job, backend, nil)
	testcheck.Fail[*problem.OptionError](t, err, "only a fit chooses it")
	_, err = Select(t.Context(), lognormal(30, 1), problem.Options{Kernel: "rbf", Mean: "zero", TargetTransform: transform.Auto}, problem.Events{}, SelectOptions{Kernels: []string{"rbf"}}, backend)
	testcheck.Fail[*problem.OptionError](t, err, "kernels are compared for one transform")
}

// signed makes rows of a normal target.
func signed(n int) problem.Data {
	d := lognormal(n, 7)
	for i, y := range d.Y {
		d.Y[i] = math.Log(y / 30)
	}
	return d
}

// TestTransformCovers fits log-normal targets: the intervals cover what they promise, and the density
// is far better than without a transform. The standard error of the coverage is 0.3 %.
func TestTransformCovers(t *testing.T) {
	covered, better, fits := 0.0, 0.0, 12
	for seed := range uint64(fits) {
		d := lognormal(1150, seed)
		d.Test = make([]bool, d.N)
		for i := 150; i < d.N; i++ {
			d.Test[i] = true
		}
		o := problem.Options{Kernel: "rbf(ard)", Mean: "constant"}
		plain := mustFit(t, d, o).Report.Test
		o.TargetTransform = transform.Log
		log := mustFit(t, d, o).Report.Test
		covered += log.Coverage95 / float64(fits)
		better += float64(plain.NLPD-log.NLPD) / float64(fits)
	}
	t.Logf("the 95 %% intervals cover %.2f %%; the NLPD is %.3f lower than without", 100*covered, better)
	if covered < 0.94 || covered > 0.96 || better < 0.3 {
		t.Errorf("the 95 %% intervals cover %.2f %%; the NLPD is only %.3f lower", 100*covered, better)
	}
}
