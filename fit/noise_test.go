package fit

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"gpfit/fit/problem"
	"gpfit/gp"
	"gpfit/graph"
	"gpfit/internal/must"
	"gpfit/internal/tuning"
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
	d.Test = make([]bool, d.N)
	for i := 0; i < d.N; i += 4 {
		d.Test[i] = true
	}
	out := mustFit(t, d, problem.Options{Kernel: "rbf(ard)"})
	r := out.Report
	for label, want := range map[string]float64{"good": 2, "poor": 20} {
		// The estimate from 60 rows or more is within a quarter.
		if got := math.Sqrt(r.ParametersOriginalUnits[graph.NoiseName(label)]); math.Abs(got/want-1) > 0.25 {
			t.Errorf("noise of %q is %v, want about %v", label, got, want)
		}
	}
	plain := d
	plain.NoiseGroup, plain.NoiseGroupColumn = nil, ""
	one := mustFit(t, plain, problem.Options{Kernel: "rbf(ard)"}).Report
	if r.NLML > one.NLML-20 || float64(r.Test.NLPD) > float64(one.Test.NLPD)-0.2 {
		t.Errorf("NLML %v and held-out NLPD %v, with one variance %v and %v", r.NLML, float64(r.Test.NLPD), one.NLML, float64(one.Test.NLPD))
	}
	// The scores once more, from the model and the held-out rows' labels.
	p := must.Get(out.Model.Condition(context.Background(), backend))(t)
	defer p.Close()
	pred := must.Get(p.PredictNoise(context.Background(), d.X, d.N, gp.RowNoise{Group: d.NoiseGroup}))(t)
	nlpd := 0.0
	for i, y := range d.Y {
		if d.Test[i] {
			z := (y - pred.Mean[i]) / pred.Std[i]
			nlpd += (z*z/2 + math.Log(pred.Std[i]*math.Sqrt(2*math.Pi))) / 60
		}
	}
	if math.Abs(nlpd-float64(r.Test.NLPD)) > 1e-9 {
		t.Errorf("NLPD %v, from predictions %v", float64(r.Test.NLPD), nlpd)
	}
	// One name fixes all of them.
	fixed := mustFit(t, d, problem.Options{Fix: []problem.Assignment{{Name: "noise_variance", Value: 0.01, Given: true}}}).Report
	if !near(fixed.Parameters["noise_variance[good]"], 0.01, 1e-14) || !near(fixed.Parameters["noise_variance[poor]"], 0.01, 1e-14) {
		t.Errorf("fixed variances %v", fixed.Parameters)
	}
}

// TestKnownNoise tests known variances alone, and with an estimated part that the
// data do not need. In both cases, a·y + b with variances times a² gives the same
// result.
func TestKnownNoise(t *testing.T) {
	d := twoLabs(240)
	for i := range d.N {
		d.NoiseVariance = append(d.NoiseVariance, map[string]float64{"good": 4, "poor": 400}[d.NoiseGroup[i]])
	}
	d.NoiseGroup, d.NoiseGroupColumn, d.NoiseColumn = nil, "", "variance"
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

// TestGroupsAreKnown checks that fixed variances of groups are equivalent to known
// ones.
func TestGroupsAreKnown(t *testing.T) {
	d := twoLabs(60)
	set := []problem.Assignment{{Name: "lengthscale", Value: 1.5, Given: true}, {Name: "signal_variance", Value: 0.7, Given: true}}
	groups := evaluate(t, d, problem.Options{Set: append(set, problem.Assignment{Name: "noise_variance[good]", Value: 0.02, Given: true}, problem.Assignment{Name: "noise_variance[poor]", Value: 0.3, Given: true})})
	_, std := meanAndStd(d.Y)
	known := d
	known.NoiseGroup = nil
	for _, label := range d.NoiseGroup {
		known.NoiseVariance = append(known.NoiseVariance, std*std*map[string]float64{"good": 0.02, "poor": 0.3}[label])
	}
	alone := evaluate(t, known, problem.Options{Set: set, NoNoise: true})
	if !near(alone.NLML, groups.NLML, 1e-12) || !near(alone.GradientLog["lengthscale"], groups.GradientLog["lengthscale"], 1e-9) {
		t.Errorf("NLML %v with groups, %v with the same variances known", groups.NLML, alone.NLML)
	}
}

func meanAndStd(v []float64) (mean, std float64) {
	for _, x := range v {
		mean += x / float64(len(v))
	}
	for _, x := range v {
		std += (x - mean) * (x - mean) / float64(len(v))
	}
	return mean, math.Sqrt(std)
}

// TestInterpolation checks that the posterior without noise interpolates the targets,
// and that an error gives advice if it cannot.
func TestInterpolation(t *testing.T) {
	d := synthetic(60)
	out := mustFit(t, d, problem.Options{Kernel: "matern32(ard)", NoNoise: true, Mean: "linear"})
	if _, ok := out.Report.Parameters["noise_variance"]; ok || len(out.Report.GradientLog) != 3 {
		t.Errorf("parameters %v", out.Report.Parameters)
	}
	p := must.Get(out.Model.Condition(context.Background(), backend))(t)
	defer p.Close()
	pred, err := p.Predict(context.Background(), d.X, d.N)
	if err != nil {
		t.Fatal(err)
	}
	for i, y := range d.Y {
		// Σ has a condition number of about 1e5; the error of variances is its square
		// root.
		if math.Abs(pred.Mean[i]-y) > 1e-7*100 || pred.Std[i] > 1e-3 || pred.Std[i] != pred.StdLatent[i] {
			t.Errorf("row %d: %v ± %v (latent %v), target %v", i, pred.Mean[i], pred.Std[i], pred.StdLatent[i], y)
		}
	}
	copy(d.X[30:33], d.X[:3]) // a repeated row
	for what, run := range map[string]func(*tuning.Job) error{
		"fit":      func(task *tuning.Job) error { _, err := Run(context.Background(), task, backend); return err },
		"evaluate": func(task *tuning.Job) error { _, err := Evaluate(context.Background(), task, backend, nil); return err },
	} {
		task := must.Get(Prepare(d, problem.Options{Kernel: "matern32", NoNoise: true}, problem.Events{}))(t)
		if err := run(task); err == nil || !strings.Contains(err.Error(), "leave out option noise none") || strings.Contains(err.Error(), "raise") {
			t.Errorf("%s: error %v", what, err)
		}
	}
}

func TestNoiseErrors(t *testing.T) {
	for what, c := range map[string]struct {
		change func(d *problem.Data)
		o      problem.Options
		word   string
	}{
		"short": {func(d *problem.Data) { d.NoiseGroup = d.NoiseGroup[1:] }, problem.Options{}, "the list of noise groups has 29 rows, but the table has 30"},
		"many": {func(d *problem.Data) {
			for i := range d.NoiseGroup {
				d.NoiseGroup[i] = string(rune('a' + i))
			}
		}, problem.Options{}, `column "lab" has 30 noise groups`},
		"held out": {func(d *problem.Data) { d.NoiseGroup[4] = "other"; d.Test = make([]bool, 30); d.Test[4] = true }, problem.Options{}, `"other" (column "lab") occurs only in held-out rows`},
		"negative": {func(d *problem.Data) {
			d.NoiseVariance = make([]float64, 30)
			d.NoiseVariance[6] = -2
			d.NoiseColumn = "v"
		}, problem.Options{}, `row 7 (from 1), column "v", is -2`},
		"NaN":          {func(d *problem.Data) { d.NoiseVariance = make([]float64, 30); d.NoiseVariance[29] = math.NaN() }, problem.Options{}, "row 30"},
		"none":         {func(*problem.Data) {}, problem.Options{NoNoise: true}, "option noise none: cannot be combined with noise groups"},
		"zero":         {func(d *problem.Data) { d.NoiseGroup = nil }, problem.Options{Fix: []problem.Assignment{{Name: "noise_variance", Value: 0, Given: true}}}, "option noise none fits without noise"},
		"no parameter": {func(d *problem.Data) { d.NoiseGroup = nil }, problem.Options{NoNoise: true, Fix: []problem.Assignment{{Name: "noise_variance", Value: 1, Given: true}}}, "no such parameter"},
	} {
		d := twoLabs(30)
		c.change(&d)
		_, err := Prepare(d, c.o, problem.Events{})
		var de *problem.DataError
		var oe *problem.OptionError
		if !errors.As(err, &de) && !errors.As(err, &oe) || !strings.Contains(err.Error(), c.word) {
			t.Errorf("%s: error %v, want %q", what, err, c.word)
		}
	}
}
