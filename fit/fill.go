package fit

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"gpfit/device"
	"gpfit/gp"
	"gpfit/graph"
	"gpfit/hyperopt"
	"gpfit/hyperopt/descent"
	"gpfit/mean"
)

// newReport reports the session's last evaluation.
func newReport(s *session, e evaluation) Report {
	j, terms := s.job, s.obj.Terms()
	r := Report{
		SchemaVersion: SchemaVersion, N: j.N(), D: j.D(), Kernel: j.kernelText(), Device: s.info.Name,
		NLML: terms.NLML(), DataFit: terms.DataFit, Complexity: terms.Complexity, Constant: terms.Constant, Jitter: terms.Jitter,
		Encoding:   j.sample.data.Encoding,
		Experts:    j.expertsReport(),
		Parameters: map[string]float64{}, Warnings: append([]string{}, j.Warnings()...),
		Evaluations: Counts{Value: e.all.Value, Gradient: e.all.Gradient, Infeasible: e.all.Infeasible,
			FullSizeValue: e.fullSize.Value, FullSizeGradient: e.fullSize.Gradient},
	}
	if method := s.ws.Method(); method != (device.Dense{}).Name() {
		r.Method = method
	}
	r.Warnings = append(r.Warnings, s.warnings...)
	values := j.params.values(e.z)
	if e.grad != nil {
		r.GradientLog = map[string]float64{}
	}
	for i, el := range j.params.elements {
		r.Names = append(r.Names, el.name)
		r.Parameters[el.name] = values[i]
		if e.grad != nil && el.source == "" {
			r.GradientLog[el.name] = e.grad[el.index]
		}
	}
	for _, name := range j.params.zeros {
		r.Names, r.Constants = append(r.Names, name), append(r.Constants, name)
		r.Parameters[name] = 0
	}
	r.HeldOut = j.heldOut
	r.Scores.Objective = s.foldScore()
	r.addObjective(j, terms)
	r.Warnings = append(r.Warnings, s.jitterWarning()...)
	r.addTargets(s, e.z, values)
	r.addColumns(j.sample)
	return r
}

// jitterWarning returns a warning if jitter was added to the diagonal.
func (s *session) jitterWarning() []string {
	jitter := s.obj.Terms().Jitter
	if jitter == 0 {
		return nil
	}
	return []string{fmt.Sprintf("a jitter of %.3g was added to the diagonal, as option max-jitter allows", jitter)}
}

// addObjective adds the objective, the priors and the ties.
func (r *Report) addObjective(j *Job, terms graph.Terms) {
	r.ObjectiveName = j.objectiveName()
	r.Objective = terms.NLML()
	if j.opts.Objective.predictive() {
		r.Objective = terms.LeaveOneOut
	}
	r.Objective += terms.NegLogPrior
	if priors := j.params.priors; len(priors) > 0 {
		r.NegLogPrior, r.Priors = &terms.NegLogPrior, map[string]string{}
		for name, p := range priors {
			r.Priors[name] = p.String()
		}
	}
	for _, e := range j.params.elements {
		if e.source != "" {
			if r.Tied == nil {
				r.Tied = map[string]string{}
			}
			r.Tied[e.name] = e.source
		}
	}
}

// addTuning adds the result of the optimiser.
func (r *Report) addTuning(j *Job, t *hyperopt.Result) {
	seed := j.opts.Settings.Seed
	r.Status = t.Status.String()
	r.GradientNorm, r.RelativeChange = Finite(t.GradientNorm), Finite(t.RelativeChange)
	r.Iterations, r.Seed = t.Iterations, &seed
	// nlml returns f if the objective is the NLML, and nil otherwise.
	nlml := func(f float64) *float64 {
		if r.ObjectiveName != string(NLML) {
			return nil
		}
		return Finite(f)
	}
	for i, s := range t.Starts {
		start := StartReport{Objective: Finite(s.F), NLML: nlml(s.F), Status: s.Status.String(), Iterations: s.Iterations, Best: i == t.BestStart}
		if s.Err != nil {
			start.Error = s.Err.Error()
		}
		r.Starts = append(r.Starts, start)
	}
	for _, b := range t.AtBound {
		r.AtBound = append(r.AtBound, b.Name)
	}
	for _, s := range t.Path {
		if len(t.Path) > 1 {
			r.Path = append(r.Path, StageReport{
				Step: s.Step, Rows: s.Rows, Starts: s.Starts, Optima: s.Optima, Objective: s.F, NLML: nlml(s.F), Parameters: j.params.named(s.Z),
				Value: s.Evaluations.Value, Gradient: s.Evaluations.Gradient, Seconds: s.Took.Seconds(),
			})
		}
	}
	for i, o := range t.Optima {
		r.Optima = append(r.Optima, OptimumReport{
			Objective: o.F, NLML: nlml(o.F), Parameters: j.params.named(o.Z), Starts: o.Starts, Drawn: o.Drawn, Best: i == 0, Dropped: o.Dropped, Rows: o.Rows,
			Value: o.Evaluations.Value, Gradient: o.Evaluations.Gradient,
		})
	}
	if p := t.Plain; p != nil {
		r.Coarse = &CoarseReport{Compared: true, Objective: Finite(p.Coarse), PlainObjective: Finite(p.F)}
	} else if t.Subsets {
		r.Coarse = &CoarseReport{}
	}
	r.Warnings = append(r.Warnings, t.Warnings...)
}

// explainBounds adds the warnings about parameters at their bounds and tiny noise.
func (r *Report) explainBounds(j *Job, at []descent.Bound) {
	if i := r.Interpolation; i != nil && (i.AtBound || i.Degenerate) {
		r.Warnings = append(r.Warnings, i.warning(r.Optima))
	}
	r.Warnings = append(r.Warnings, j.boundWarnings(at, r.Relevance, r.Interpolation == nil)...)
}

// addTests adds the scores of held-out rows, for each target.
func (r *Report) addTests(tests []*TestScores) {
	for i, scores := range tests {
		r.Warnings = append(r.Warnings, undefinedWarning(scores.NLPD, "held-out rows")...)
		if r.Targets == nil {
			r.Test = scores
		} else {
			r.Targets[i].Test = scores
		}
	}
}

// units holds parameters in original units, in order.
type units struct {
	names  []string
	values map[string]float64
}

func (u *units) add(name string, v float64) {
	u.names = append(u.names, name)
	u.values[name] = v
}

// originalUnits converts every parameter to the units of a target, by [kernel.Param.Units]:
//
//   - Lengthscales and periods take the scale of their column. One that serves
//     several columns has a value for each of them in original units.
//   - Signal variances take the square of the target's scale. The signal variance of a
//     product with one linear leaf is also divided by the square of the column's scale:
//     it is then the prior variance of a slope, one for every column.
//   - Lengthscales of linear(ard) are the inverse of such a slope's standard
//     deviation. Those of poly(ard, degree p) and its offset take the p-th part of
//     the target's units.
//   - α, the lengthscale of periodic and the offset of poly have no units and stay
//     as they are: linear, poly and the offset refer to the standardised inputs,
//     centred on their means.
func (j *Prepared) originalUnits(target int, values []float64) units {
	u := units{values: map[string]float64{}}
	s := j.sample.scalings[target]
	for _, p := range j.Program().Params {
		scale := scalePower(s.YScale, p.Units.Target)
		at := func(i, c int) float64 {
			return values[p.Offset+i] * scale * scalePower(s.XScale[c], p.Units.Input)
		}
		switch names := p.ElementNames(); {
		case p.Units.Input == 0:
			for i, name := range names {
				u.add(j.sample.display(name), values[p.Offset+i]*scale)
			}
		case p.Vector || len(p.Dims) == 1:
			for i, name := range names {
				u.add(j.sample.display(name), at(i, p.Dims[i]))
			}
		default:
			for _, c := range p.Dims {
				u.add(p.Name+"["+j.sample.names().Label(j.sample.columns[c])+"]", at(0, c))
			}
		}
	}
	for _, name := range j.params.zeros {
		u.add(name, 0)
	}
	for i, e := range j.params.elements {
		if e.group == graph.NoiseVariance {
			u.add(e.name, values[i]*(s.YScale*s.YScale))
		}
	}
	return u
}

// addTargets fills in the parts that depend on a target: in the report itself for one
// target, in a part for each of several. Values in original units that all targets
// share stay in the report.
func (r *Report) addTargets(s *session, z, values []float64) {
	j, terms := s.job, s.obj.Terms()
	count := float64(j.sample.t())
	r.Mean = j.meanText()
	for i := range j.sample.t() {
		u, coefficients := j.originalUnits(i, values), s.coefficientReports(i, z)
		for _, c := range coefficients {
			if u.values[c.Name] = c.OriginalUnits; j.model.meanFree {
				u.names = append(u.names, c.Name)
			}
		}
		p := TargetReport{
			Name: j.sample.targetName(i), DataFit: terms.DataFits[i], Complexity: terms.Complexity / count, Constant: terms.Constant / count,
			ParametersOriginalUnits: u.values, MeanCoefficients: coefficients,
		}
		p.NLML = p.DataFit + p.Complexity + p.Constant
		p.NLMLOriginalUnits = p.NLML + float64(j.N())*math.Log(j.sample.scalings[i].YScale)
		r.NLMLOriginalUnits += p.NLMLOriginalUnits
		r.Targets = append(r.Targets, p)
		r.NamesOriginal = u.names
	}
	first := r.Targets[0]
	if len(first.MeanCoefficients) > 0 {
		r.MeanFit = MeanGLS
		if j.model.meanFree {
			r.MeanFit = MeanFree
		}
	}
	if count == 1 {
		r.Targets, r.MeanCoefficients, r.ParametersOriginalUnits = nil, first.MeanCoefficients, first.ParametersOriginalUnits
		for _, c := range r.MeanCoefficients {
			r.Parameters[c.Name] = c.Value
		}
		return
	}
	r.ParametersOriginalUnits = map[string]float64{}
	var own []string
	r.NamesOriginal = slices.DeleteFunc(r.NamesOriginal, func(name string) bool {
		v := first.ParametersOriginalUnits[name]
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

// coefficientReports returns a target's coefficients of the mean function at z.
func (s *session) coefficientReports(target int, z []float64) []Coefficient {
	beta, covariance := s.coefficients(target, z)
	q, scaling, basis := len(beta), s.job.sample.scalings[target], s.job.model.basis
	if q == 0 {
		return nil
	}
	var out []Coefficient
	toOriginal := basis.Original(scaling.XMean, scaling.XScale)
	for k, f := range basis {
		row := toOriginal[k*q : (k+1)*q]
		c := Coefficient{Name: s.job.sample.display(f.Name()), Value: beta[k]}
		for l, v := range row {
			c.OriginalUnits += scaling.YScale * v * beta[l]
		}
		if f.Group == mean.Constant {
			c.OriginalUnits += scaling.YMean
		}
		if covariance != nil {
			scaled, original := math.Sqrt(covariance[k*q+k]), scaling.YScale*math.Sqrt(quadratic(covariance, row))
			c.StandardError, c.StandardErrorOriginalUnits = &scaled, &original
		}
		if f.Group == mean.Bump {
			centre, width := f.Centre*scaling.XScale[f.Column]+scaling.XMean[f.Column], f.Width*scaling.XScale[f.Column]
			c.Centre, c.Width = &centre, &width
		}
		out = append(out, c)
	}
	return out
}

// quadratic returns vᵀCv, or 0 if rounding makes it negative.
func quadratic(c, v []float64) float64 {
	sum := 0.0
	for j, a := range v {
		for k, b := range v {
			sum += a * c[j*len(v)+k] * b
		}
	}
	return max(sum, 0)
}

// addColumns maps the names in the report that belong to columns to their columns.
func (r *Report) addColumns(s *sample) {
	r.Columns = map[string]ParameterColumn{}
	add := func(values map[string]float64) {
		for name := range values {
			if strings.HasPrefix(name, graph.NoiseVariance) {
				continue
			}
			indexed := s.names().Indexed(name)
			_, rest, _ := strings.Cut(indexed, "[")
			digits := rest[:max(0, strings.IndexAny(rest, ",]"))]
			if c, err := strconv.Atoi(digits); err == nil && c < s.data.D {
				r.Columns[name] = ParameterColumn{Indexed: indexed, Index: c, Column: s.data.FeatureNames[c]}
			}
		}
	}
	add(r.Parameters)
	add(r.ParametersOriginalUnits)
	for _, target := range r.Targets {
		add(target.ParametersOriginalUnits)
	}
}

// expertsReport describes the experts of the job; nil without.
func (j *Prepared) expertsReport() *ExpertsReport {
	p := j.experts
	if p == nil {
		return nil
	}
	sorted := slices.Sorted(slices.Values(p.Sizes))
	return &ExpertsReport{
		Method: j.opts.Experts, Combine: p.Combine, Experts: len(p.Sizes), Split: p.Split, Merged: p.Merged,
		Smallest: sorted[0], Median: sorted[len(sorted)/2], Largest: sorted[len(sorted)-1], Sizes: p.Sizes, Inertia: p.Inertia,
	}
}

// addCalibration adds what a fit found of the rules.
func (r *Report) addCalibration(m *gp.Model) {
	if m.Experts != nil {
		r.Experts.Temperature, r.Experts.Rules = m.Experts.Temperature, m.Experts.Scores
	}
}
