package fit

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/floats"

	"gpfit/gp"
	"gpfit/graph"
	"gpfit/kernel"
	"gpfit/mean"
)

// t returns the number of targets.
func (d *Data) t() int { return max(1, len(d.TargetNames)) }

// targetName is the name of a target.
func (d *Data) targetName(i int) string {
	if d.TargetNames == nil {
		return d.TargetName
	}
	return d.TargetNames[i]
}

// scale standardises inputs and every target.
func (t *Task) scale(how gp.Standardize) {
	n := t.N()
	for i := range t.data.t() {
		s := gp.NewScaling(how, t.trainX, t.trainY[i*n:(i+1)*n], t.D())
		t.scalings = append(t.scalings, s)
		t.targets = append(t.targets, s.Targets(t.trainY[i*n:(i+1)*n])...)
	}
	t.scaling = t.scalings[0]
	t.points = kernel.NewPoints(t.scaling.Inputs(t.trainX), n, t.D())
}

// ofTarget returns the task as it looks to one of its targets: scaling, report
// and coefficients are that target's.
func (t *Task) ofTarget(i int) *Task {
	one := *t
	one.target, one.scaling = i, t.scalings[i]
	return &one
}

// withRows returns the task on some of its training rows, by their positions
// in the order given. Scaling, basis functions and parameters stay those of all
// rows.
func (t *Task) withRows(rows []int) *Task {
	sub, n := *t, t.N()
	sub.rows = pick(t.rows, rows, len(t.rows), 1)
	sub.trainX = pick(t.trainX, rows, n, t.D())
	sub.trainY, sub.targets = pick(t.trainY, rows, n, 1), pick(t.targets, rows, n, 1)
	sub.noise.Known, sub.noise.Group = pick(t.noise.Known, rows, n, 1), pick(t.noise.Group, rows, n, 1)
	sub.points = kernel.NewPoints(t.scaling.Inputs(sub.trainX), len(rows), t.D())
	sub.params = slices.Clone(t.params)
	return &sub
}

// pick returns the given rows of the n×d row-major matrices in v, one after the
// other; nil of nil.
func pick[T any](v []T, rows []int, n, d int) []T {
	var out []T
	for first := 0; first < len(v); first += n * d {
		for _, i := range rows {
			out = append(out, v[first+i*d:first+(i+1)*d]...)
		}
	}
	return out
}

// targetVariance is the variance that kernel and noise have to explain, in
// scaled units, the mean over the targets: that of the targets, or, where the
// mean is found by least squares, of what ordinary least squares leave of them,
// at least leastVariance of it. Start values and bounds are relative to it.
func (t *Task) targetVariance() float64 {
	n, sum := t.N(), 0.0
	var ols *mean.GLS
	h := t.basis.Evaluate(t.points)
	if len(t.basis) > 0 && !t.meanFree {
		// An H too ill-conditioned for this is an error of the evaluation.
		ols, _ = mean.NewGLS(h, h, n)
	}
	for first := 0; first < len(t.targets); first += n {
		y := t.targets[first : first+n]
		variance := meanSquare(y)
		if ols != nil {
			rest := slices.Clone(y)
			for j, beta := range ols.Coefficients(y) {
				floats.AddScaled(rest, -beta, h[j*n:(j+1)*n])
			}
			variance = max(floats.Dot(rest, rest)/float64(n), leastVariance*variance)
		}
		sum += variance
	}
	return sum / float64(t.data.t())
}

// leastVariance keeps start values of targets that the mean explains exactly
// away from zero.
const leastVariance = 1e-8

// checkTargets refuses a target that is constant.
func (t *Task) checkTargets() error {
	n := t.N()
	for i := range t.data.t() {
		if len(constantColumns(t.trainY[i*n:(i+1)*n], n, 1)) > 0 {
			return &DataError{fmt.Sprintf("the target %q is constant over the training rows: there is nothing to fit", t.data.targetName(i))}
		}
	}
	return nil
}

// TargetReport is one of several targets' part of a report.
type TargetReport struct {
	Name string `json:"name"`
	// NLML is the target's part of the sum, and DataFit that of its data fit;
	// complexity and constant are the same for every target.
	NLML                    float64            `json:"nlml"`
	NLMLOriginalUnits       float64            `json:"nlml_original_units"`
	DataFit                 float64            `json:"data_fit"`
	Complexity              float64            `json:"complexity"`
	Constant                float64            `json:"constant"`
	ParametersOriginalUnits map[string]float64 `json:"parameters_original_units"`
	MeanCoefficients        []Coefficient      `json:"mean_coefficients,omitempty"`
	Test                    *TestScores        `json:"test,omitempty"`
	// names are those of ParametersOriginalUnits that are the target's own, in
	// order.
	names []string
}

// reportTargets fills in what depends on a target: for one of them in the
// report itself, for several in a part for each. What is the same in original
// units for all of them stays in the report.
func (t *Task) reportTargets(r *Report, obj *graph.Objective, z, values []float64) {
	terms := obj.Terms()
	count := float64(t.data.t())
	for i := range t.data.t() {
		part := Report{Parameters: map[string]float64{}, ParametersOriginalUnits: map[string]float64{}}
		one := t.ofTarget(i)
		one.originalUnits(&part, values)
		one.reportMean(&part, obj, z)
		p := TargetReport{
			Name: t.data.targetName(i), DataFit: terms.DataFits[i], Complexity: terms.Complexity / count, Constant: terms.Constant / count,
			ParametersOriginalUnits: part.ParametersOriginalUnits, MeanCoefficients: part.MeanCoefficients,
		}
		p.NLML = p.DataFit + p.Complexity + p.Constant
		p.NLMLOriginalUnits = p.NLML + float64(t.N())*math.Log(one.scaling.YScale)
		r.NLMLOriginalUnits += p.NLMLOriginalUnits
		r.Targets = append(r.Targets, p)
		if i == 0 {
			r.Mean, r.MeanFit, r.MeanCoefficients = part.Mean, part.MeanFit, part.MeanCoefficients
			r.ParametersOriginalUnits, r.NamesOriginal = part.ParametersOriginalUnits, part.NamesOriginal
			for name, v := range part.Parameters {
				r.Parameters[name] = v
			}
		}
	}
	if count == 1 {
		r.Targets = nil
		return
	}
	for _, c := range r.MeanCoefficients {
		delete(r.Parameters, c.Name)
	}
	r.MeanCoefficients, r.ParametersOriginalUnits = nil, map[string]float64{}
	var own []string
	r.NamesOriginal = slices.DeleteFunc(r.NamesOriginal, func(name string) bool {
		v := r.Targets[0].ParametersOriginalUnits[name]
		same := !slices.ContainsFunc(r.Targets, func(p TargetReport) bool { return p.ParametersOriginalUnits[name] != v })
		if same {
			r.ParametersOriginalUnits[name] = v
		} else {
			own = append(own, name)
		}
		return !same
	})
	for i := range r.Targets {
		r.Targets[i].names = own
	}
}

// modelTargets puts several targets into a model.
func (t *Task) modelTargets(m *gp.Model, obj *graph.Objective) {
	if t.data.TargetNames == nil {
		return
	}
	terms := obj.Terms()
	count := float64(t.data.t())
	for i, name := range t.data.TargetNames {
		beta, _ := t.ofTarget(i).coefficients(obj, nil)
		m.Targets = append(m.Targets, gp.Target{
			Name: name, YMean: t.scalings[i].YMean, YScale: t.scalings[i].YScale, Coefficients: beta,
			NLML: terms.DataFits[i] + (terms.Complexity+terms.Constant)/count,
		})
	}
	m.TargetName = t.data.TargetNames[0]
}

// targetScale is the standard deviation of a target's training rows, also where
// the fit does not scale them.
func (t *Task) targetScale(i int) float64 {
	n := t.N()
	return gp.NewScaling(gp.StandardizeY, nil, t.trainY[i*n:(i+1)*n], 0).YScale
}

// newScores scores predictions of held-out targets y; scale is the standard
// deviation of the training targets.
func newScores(p *gp.Prediction, y []float64, scale float64) *TestScores {
	s := TestScores{N: len(y)}
	for i, v := range y {
		err, std := v-p.Mean[i], p.Std[i]
		s.RMSE += err * err
		switch {
		case std > 0:
			s.NLPD += 0.5*math.Log(2*math.Pi*std*std) + err*err/(2*std*std)
		case err != 0:
			s.NLPD = math.Inf(1) // no density at the target
		default:
			s.NLPD -= math.Inf(1)
		}
		if v >= p.Lower95[i] && v <= p.Upper95[i] {
			s.Coverage95++
		}
	}
	n := float64(s.N)
	s.RMSE, s.NLPD, s.Coverage95 = math.Sqrt(s.RMSE/n), s.NLPD/n, s.Coverage95/n
	s.RMSEStandardized = s.RMSE / scale
	s.NLPDStandardized = s.NLPD - math.Log(scale)
	return &s
}

// writeTargets prints the parts of several targets.
func (r *Report) writeTargets(b *strings.Builder) {
	width := 20
	for _, p := range r.Targets {
		for _, name := range p.names {
			width = max(width, len(name))
		}
		for _, c := range p.MeanCoefficients {
			width = max(width, len(c.Name))
		}
	}
	for _, p := range r.Targets {
		fmt.Fprintf(b, "\ntarget %q: NLML %.6f, in original units %.6f, data fit %.6f\n", p.Name, p.NLML, p.NLMLOriginalUnits, p.DataFit)
		for _, name := range p.names {
			fmt.Fprintf(b, "  %-*s %14.6g in original units\n", width, name, p.ParametersOriginalUnits[name])
		}
		for _, c := range p.MeanCoefficients {
			fmt.Fprintf(b, "  %-*s %14.6g, std. error %.3g, in original units\n", width, c.Name, c.OriginalUnits, *c.StandardErrorOriginalUnits)
		}
		if s := p.Test; s != nil {
			fmt.Fprintf(b, "  held-out rows (%d): RMSE %.6g (standardized %.4f), NLPD %.6g (%.4f), %.1f %% in the 95 %% interval\n",
				s.N, s.RMSE, s.RMSEStandardized, s.NLPD, s.NLPDStandardized, 100*s.Coverage95)
		}
	}
}
