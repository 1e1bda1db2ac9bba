package fit

import (
	"errors"
	"math"
	"strings"
	"testing"

	"gpfit/fit/problem"
	"gpfit/gp"
	"gpfit/hyperopt"
	"gpfit/kernel"
)

// TestUnprovedKernels checks that a fit first checks formulas and user-defined
// kernels, but not built-in families.
func TestUnprovedKernels(t *testing.T) {
	d := synthetic(60)
	flat := &kernel.Family{Name: "flat", Function: func(p *kernel.Pair) *kernel.Node { return p.Sub(p.Number(0.1), p.Exp(p.Neg(p.Distance("")))) }}
	skew := &kernel.Family{Name: "skew", Function: func(p *kernel.Pair) *kernel.Node { return p.Exp(p.Difference("")) }}
	for text, want := range map[string]string{
		"rbf + linear": "", "formula(exp(-r/a), a=1)*rbf": "", "formula(1 - r)": "has the eigenvalue -", "rbf + rbf*(flat + constant)": "has the eigenvalue -",
		"skew": "differ by", "rbf + formula(log(r))": "not a finite number",
	} {
		o := problem.Options{Kernel: text, Kernels: []*kernel.Family{flat, skew}}
		job, err := Prepare(d, o, problem.Events{})
		if err != nil {
			t.Fatal(err)
		}
		if warnings := strings.Join(job.Warnings(), " "); strings.Contains(warnings, "not a covariance function") != (want != "") || !strings.Contains(warnings, want) {
			t.Errorf("%s: warnings %q, want %q", text, warnings, want)
		}
		o.RequirePSD = true
		_, err = Prepare(d, o, problem.Events{})
		var none *kernel.KernelhoodError
		if errors.As(err, &none) != (want != "") || none != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", text, err, want)
		}
	}
}

// TestPanickingKernel checks that a panic in the function of a user-defined kernel is
// an error, and so is a function that returns nothing.
func TestPanickingKernel(t *testing.T) {
	boom := &kernel.Family{Name: "boom", Function: func(*kernel.Pair) *kernel.Node { panic("a mistake") }}
	none := &kernel.Family{Name: "none", Function: func(*kernel.Pair) *kernel.Node { return nil }}
	for text, want := range map[string]string{"rbf + boom": "panicked: a mistake", "none*rbf": "no expression"} {
		_, err := Prepare(synthetic(20), problem.Options{Kernel: text, Kernels: []*kernel.Family{boom, none}}, problem.Events{})
		var failed *kernel.CompileError
		if !errors.As(err, &failed) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", text, err, want)
		}
	}
}

// TestUnprovedScales checks that the check of a formula does not depend on the size
// of its values, some of which are tiny beside others.
func TestUnprovedScales(t *testing.T) {
	for _, step := range []float64{0, 3, 6, 12} {
		d := synthetic(24)
		for i := range d.X {
			d.X[i] *= math.Pow(10, -step*float64(i))
		}
		if _, err := Prepare(d, problem.Options{Kernel: "formula(sqrt(xx*yy)*a, a=1)", Standardize: gp.StandardizeNone}, problem.Events{}); err != nil {
			t.Error(err)
		}
	}
}

// TestFormulaFit checks that the fit of a formula equals the fit of the family that
// it spells out, and that its parameters are reported in original units.
func TestFormulaFit(t *testing.T) {
	d := synthetic(80)
	formula := mustFit(t, d, problem.Options{Kernel: "formula(exp(-b*r2), b=0.5, dims=0)", Settings: hyperopt.Settings{Seed: 1}}).Report
	family := mustFit(t, d, problem.Options{Kernel: "rbf(lengthscale=1, dims=0)", Settings: hyperopt.Settings{Seed: 1}}).Report
	if math.Abs(formula.NLML-family.NLML) > 1e-5 {
		t.Errorf("NLML %v, with rbf %v", formula.NLML, family.NLML)
	}
	for what, values := range map[string][2]map[string]float64{
		"scaled": {formula.Parameters, family.Parameters}, "original": {formula.ParametersOriginalUnits, family.ParametersOriginalUnits},
	} {
		rho := values[1]["lengthscale"]
		if b := values[0]["b"]; math.Abs(2*b*rho*rho-1) > 1e-3 {
			t.Errorf("%s units: b = %v beside a lengthscale of %v", what, b, rho)
		}
	}
}
