package fit

import (
	"context"
	"math"
	"strings"
	"testing"

	"gpfit/fit/problem"
	"gpfit/gp"
	"gpfit/internal/must"
)

// TestStdErrorsAnalytic compares with formulas: with a lengthscale far below the distances
// Σ = sI, s = τ² + σ², and with σ² fixed
//
//	NLML = ½n log s + Σ(y − c)²/(2s) + …,  ŝ = Σ(y − ĉ)²/n,
//	∂²/∂(log τ²)² = nτ⁴/(2s²),  ∂²/∂c² = n/s,  no mixed term.
func TestStdErrorsAnalytic(t *testing.T) {
	d := synthetic(50)
	for _, how := range []gp.Standardize{gp.StandardizeXY, gp.StandardizeNone} {
		r := mustFit(t, d, problem.Options{Standardize: how, Mean: "constant", MeanFit: problem.MeanFree, StdErrors: true,
			Fix: []problem.Assignment{{Name: "lengthscale", Value: 1e-9, Given: true}, {Name: "noise_variance", Value: 1e-3, Given: true}}}).Report
		e := r.StdErrors
		if e == nil || e.Failure != "" {
			t.Fatalf("%s: %+v, warnings %q", how, e, r.Warnings)
		}
		tau := r.Parameters["signal_variance"]
		s := tau + 1e-3
		wantTau, wantMean := s/tau*math.Sqrt(2.0/50), math.Sqrt(s/50)
		// hessianStep² / 6 times a third derivative as large as the second.
		const tol = 1e-6
		if math.Abs(e.Log["signal_variance"]/wantTau-1) > tol || math.Abs(e.Scaled["signal_variance"]/(wantTau*tau)-1) > tol {
			t.Errorf("%s: log τ² has %v, analytic %v", how, e.Log["signal_variance"], wantTau)
		}
		if math.Abs(e.Scaled["mean_constant"]/wantMean-1) > tol {
			t.Errorf("%s: mean_constant has %v, analytic %v", how, e.Scaled["mean_constant"], wantMean)
		}
		i := e.Interval95["signal_variance"]
		if math.Abs(i[0]*i[1]/(tau*tau)-1) > 1e-9 || math.Abs(math.Log(i[1]/tau)/(1.959964*wantTau)-1) > tol {
			t.Errorf("interval %v around %v", i, tau)
		}
		// In original units the interval scales with the targets.
		ratio := r.ParametersOriginalUnits["signal_variance"] / tau
		if math.Abs(e.Original["signal_variance"]/(e.Scaled["signal_variance"]*ratio)-1) > 1e-9 || math.Abs(e.Original["mean_constant"]/(wantMean*math.Sqrt(ratio))-1) > tol {
			t.Errorf("%s: original units %v, ratio of variances %v", how, e.Original, ratio)
		}
		if _, ok := e.Log["mean_constant"]; ok || len(e.Names) != 2 || len(e.LeftOut) != 2 {
			t.Errorf("names %v, left out %v, logs %v", e.Names, e.LeftOut, e.Log)
		}
		if text := r.Text(); !strings.Contains(text, "standard errors") || strings.Count(text, "left out") != 2 {
			t.Errorf("text:\n%s", text)
		}
	}
}

// TestHessian compares with second differences of values, which use no gradient, with
// ties and priors. They have fourth order in the step 0.02 and are accurate to 1e-7
// (truncation) and 1e-16·100/4e-4 (cancellation), relative to their terms.
func TestHessian(t *testing.T) {
	o := problem.Options{Kernel: "rbf(ard) + matern32(ard)", Mean: "linear", MeanFit: problem.MeanFree, StdErrors: true,
		Ties:   []problem.Tie{{Name: "k2.lengthscale[0]", Source: "k1.lengthscale[0]"}},
		Priors: []problem.ParameterPrior{{Name: "k1.lengthscale", Density: density(t, "lognormal(0, 0.5)")}, {Name: "k2.lengthscale[2]", Density: density(t, "gamma(3, 2)")}, {Name: "k1.signal_variance", Density: density(t, "halfnormal(1)")}, {Name: "k2.signal_variance", Density: density(t, "halfnormal(1)")}}}
	d := synthetic(60)
	task := mustPrepare(t, d, o)
	out := mustFit(t, d, o)
	e := out.Report.StdErrors
	if e == nil || e.Failure != "" {
		t.Fatalf("%+v", e)
	}
	err := Measure(context.Background(), task, backend, func(p *Parts) error {
		z := make([]float64, len(task.Params.Free))
		for i, q := range task.Params.Free {
			z[i] = q.Z(out.Report.Parameters[q.Name])
		}
		value := func(i, j int, a, b float64) float64 {
			at := append([]float64(nil), z...)
			at[i] += a
			at[j] += b
			v := must.Get(p.Objective.Value(context.Background(), at))(t)
			return v
		}
		mixed := func(i, j int, h float64) float64 {
			return (value(i, j, h, h) - value(i, j, h, -h) - value(i, j, -h, h) + value(i, j, -h, -h)) / (4 * h * h)
		}
		for a, first := range e.Names {
			for b, second := range e.Names {
				i, j := task.Params.Find(first)[0], task.Params.Find(second)[0]
				want := (4*mixed(i, j, 0.01) - mixed(i, j, 0.02)) / 3
				scale := math.Sqrt(math.Abs(e.Hessian[a][a] * e.Hessian[b][b]))
				if got := e.Hessian[a][b]; math.Abs(got-want) > 1e-4*(scale+1) || got != e.Hessian[b][a] {
					t.Errorf("∂²/∂%s∂%s = %v, second difference %v, mirror image %v", first, second, got, want, e.Hessian[b][a])
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(e.Names) < 7 {
		t.Errorf("only %v", e.Names)
	}
	if e.Asymmetry > 1e-4*math.Abs(e.Hessian[0][0]) {
		t.Errorf("asymmetry %v", e.Asymmetry)
	}
	if e.Log["k2.lengthscale[mm]"] != e.Log["k1.lengthscale[mm]"] || e.Log["k2.lengthscale[mm]"] == 0 {
		t.Errorf("tied: %v", e.Log)
	}
	// The slope of the first column in original units, by the delta method by hand.
	if ratio := e.Original["mean_linear[0]"] / e.Scaled["mean_linear[0]"]; math.Abs(ratio/(task.Sample.Scalings[0].YScale/task.Sample.Scalings[0].XScale[0])-1) > 1e-9 {
		t.Errorf("slope's units: ratio %v", ratio)
	}
}

// TestStdErrorsFailure checks that there are no standard errors if the data do not
// determine a minimum of the objective, or if the fit did not reach it.
func TestStdErrorsFailure(t *testing.T) {
	d := synthetic(40)
	// Two variances of which only the sum matters, so that one eigenvalue is 0.
	o := problem.Options{Kernel: "rbf(lengthscale=1e-9) + matern12(lengthscale=1e-9)", StdErrors: true,
		Fix: []problem.Assignment{{Name: "k1.lengthscale"}, {Name: "k2.lengthscale"}, {Name: "noise_variance", Value: 1e-3, Given: true}}}
	r := mustFit(t, d, o).Report
	if e := r.StdErrors; !strings.Contains(e.Failure, "not positive definite") || e.Log != nil || e.Scaled != nil || len(e.Hessian) != 2 {
		t.Errorf("%+v", e)
	}
	if !strings.Contains(r.Text(), "no standard errors") || !strings.Contains(strings.Join(r.Warnings, ";"), "no standard errors") {
		t.Errorf("text\n%s\nwarnings %q", r.Text(), r.Warnings)
	}
	all := mustFit(t, d, problem.Options{StdErrors: true, Fix: []problem.Assignment{{Name: "lengthscale"}, {Name: "signal_variance"}, {Name: "noise_variance"}}}).Report
	if !strings.Contains(all.StdErrors.Failure, "every parameter") {
		t.Errorf("%+v", all.StdErrors)
	}
	bound := mustFit(t, d, problem.Options{StdErrors: true, Bounds: []problem.Interval{{Name: "signal_variance", Lo: 1e-3, Hi: 1e-2}}}).Report
	if e := bound.StdErrors; strings.Join(e.LeftOut, " ") != "signal_variance" || len(e.Log) != 2 {
		t.Errorf("%+v", e)
	}
	early := problem.Options{StdErrors: true, Kernel: "rbf(ard)"}
	early.Settings.MaxEvaluations = 3
	if w := strings.Join(mustFit(t, d, early).Report.Warnings, ";"); !strings.Contains(w, "standard errors") {
		t.Errorf("warnings %q", w)
	}
}
