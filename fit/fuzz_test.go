package fit

import (
	"errors"
	"math"
	"testing"

	"gpfit/fit/problem"
	"gpfit/graph"
	"gpfit/internal/fuzzguard"
	"gpfit/kernel"
)

// FuzzPrepare checks that options of every kind, with arbitrary names and texts, give a job whose
// start values are finite and within their bounds, or an error that names the option or the data.
func FuzzPrepare(f *testing.F) {
	f.Add("rbf(ard)", "linear", "lengthscale[2]", "noise_variance", "lognormal(0, 1)", 2.0, 1e-3, 10.0, uint16(0))
	f.Add("rbf + periodic*linear", "poly(2, dims=0)", "k1.lengthscale", "k2.k1.lengthscale", "uniform(1, 2)", 0.5, 0.1, 0.2, uint16(0xffff))
	f.Add("constant", "bumps(3)", "noise_variance[a=b]", "noise_variance[]", "normal(0, 1)", 0.0, math.NaN(), math.Inf(1), uint16(0x5555))
	f.Add("rq(alpha=1e300)*poly(100)", "zero", "mean_constant", "alpha", "gamma(1e-300, 1)", 1e308, 5e-324, 1e308, uint16(3))
	f.Fuzz(func(t *testing.T, expression, mean, name, other, density string, value, lo, hi float64, flags uint16) {
		o := problem.Options{Kernel: expression, Mean: mean, ARD: flags&1 != 0, NoNoise: flags&2 != 0, StdErrors: flags&4 != 0}
		if flags&8 != 0 {
			o.Set = []problem.Assignment{{Name: name, Value: value, Given: true}}
		}
		if flags&16 != 0 {
			o.Fix = []problem.Assignment{{Name: other, Value: lo, Given: flags&32 != 0}}
		}
		if flags&64 != 0 {
			o.Bounds = []problem.Interval{{Name: name, Lo: lo, Hi: hi}}
		}
		if flags&128 != 0 {
			o.Ties = []problem.Tie{{Name: other, Source: name}}
		}
		if p, err := graph.ParsePrior(density); err == nil && flags&256 != 0 {
			o.Priors = []problem.ParameterPrior{{Name: name, Density: p}}
		}
		if flags&512 != 0 {
			o.Objective, o.MeanFit, o.MaxJitter = problem.LOO, problem.MeanFree, math.Abs(value)
		}
		fuzzguard.Run(t, func() { checkPrepare(t, fuzzData(flags), o) })
	})
}

// fuzzData is a small table whose noise groups have labels that look like the names of parameters.
func fuzzData(flags uint16) problem.Data {
	d := synthetic(8)
	if flags&1024 != 0 {
		d.NoiseGroupColumn = "lab"
		d.NoiseGroup = cycled(d.N, "a=b", "[0]")
	}
	return d
}

func checkPrepare(t *testing.T, d problem.Data, o problem.Options) {
	job, err := Prepare(d, o, problem.Events{})
	if err != nil {
		var text *kernel.ParseError
		typed := errors.As(err, new(*problem.OptionError)) || errors.As(err, new(*problem.DataError)) || errors.As(err, new(*kernel.CompileError)) || errors.As(err, &text) && text.Pos <= len(text.Text)
		if !typed || err.Error() == "" {
			t.Fatalf("%+v: %#v", o, err)
		}
		return
	}
	for _, p := range job.Params.Free {
		// A fixed parameter may stand anywhere. A start value that the user gave may, too:
		// the optimiser moves it into the bounds with a warning.
		anywhere := p.Fixed || p.Given || p.TextStart
		if math.IsNaN(p.Start) || math.IsInf(p.Start, 0) || p.Log && !(p.Start > 0) || !anywhere && !(p.Lower <= p.Start && p.Start <= p.Upper) {
			t.Fatalf("%+v: %s begins at %v within %v … %v", o, p.Name, p.Start, p.Lower, p.Upper)
		}
	}
}
