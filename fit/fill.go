package fit

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"gpfit/device"
	"gpfit/fit/problem"
	"gpfit/fit/summary"
	"gpfit/fit/tuning"
	"gpfit/gp"
	"gpfit/graph"
	"gpfit/hyperopt"
	"gpfit/hyperopt/descent"
	"gpfit/internal/transform"
	"gpfit/kernel"
	"gpfit/mean"
	"gpfit/method/experts"
	"gpfit/method/merged"
)

// A design has few levels if no column has more than mostLevels, and the rows fill a share of filledLevels of all
// their combinations.
const (
	mostLevels   = 15
	filledLevels = 0.5
)

// fewLevels returns the largest number of levels of a design of two and more columns that has few, 0 for others. Between
// categories, which are columns of 0 and 1, there is nothing.
func fewLevels(s *problem.Sample) (most int) {
	combinations, varied := 1.0, 0
	categories := s.Data.Encoding != nil && !s.Data.Encoding.AsIs()
	for c, feature := range s.Columns {
		levels := []float64{}
		for _, held := range []bool{false, true} {
			all, i, stride := s.X, c, s.D()
			if held {
				all, i, stride = s.TestX, feature, s.Data.D
			}
			for ; i < len(all); i += stride {
				if slices.Contains(levels, all[i]) {
					continue
				}
				if levels = append(levels, all[i]); len(levels) > mostLevels {
					return 0
				}
			}
		}
		if slices.Sort(levels); !categories || !slices.Equal(levels, []float64{0, 1}) {
			varied++
			combinations *= float64(len(levels))
			most = max(most, len(levels))
		}
	}
	if varied < 2 || float64(s.N()) < filledLevels*combinations {
		return 0
	}
	return most
}

// newReport reports the session's last evaluation.
func newReport(s *tuning.Placement, e evaluation) summary.Report {
	j, terms := s.Job, s.Terms()
	r := summary.Report{
		SchemaVersion: summary.SchemaVersion, N: j.N(), D: j.D(), Kernel: j.KernelText(), Device: s.Info.Name,
		NLML: terms.NLML(), DataFit: terms.DataFit, Complexity: terms.Complexity, Constant: terms.Constant, Jacobian: terms.Jacobian, Jitter: terms.Jitter,
		Encoding:   j.Sample.Data.Encoding,
		Reading:    j.Sample.Data.Reading,
		Experts:    expertsReport(j.Prepared),
		Parameters: map[string]float64{}, Warnings: append([]string{}, j.Warnings()...),
		Evaluations: counts(e.all, e.fullSize), Digits: s.Digits, Approximation: s.Approximation,
	}
	for _, c := range j.Sample.Columns {
		r.Features = append(r.Features, j.Sample.Data.FeatureNames[c])
	}
	if j.Sample.T() == 1 {
		r.Target = j.Sample.Data.TargetName
	}
	if method := s.Workspace.Method(); method != device.DenseName {
		r.Method = method
	}
	if r.Method == merged.Name {
		r.Distinct = merged.Inner(s.Workspace).N()
	}
	r.Warnings = append(r.Warnings, s.Warnings...)
	for _, p := range j.Program().Params {
		r.Isotropic = r.Isotropic || p.Kind == kernel.Lengthscale && !p.Vector && !p.Sphere && len(p.Dims) == j.D() && j.D() > 1
	}
	if y, o := j.Sample.Y, j.Options; j.Sample.T() == 1 && (o.TargetTransform == "" || o.TargetTransform == transform.None) && j.Sample.Data.NoiseVariance == nil {
		r.Skewed = slices.Min(y) > 0 && transform.Skewness(y) > transform.ManySkewed
	}
	r.Levels, r.Series = fewLevels(j.Sample), timeColumn(j.Sample, j.Held) >= 0
	if r.Barred = j.Barred; r.Series && j.Sample.Data.Group != nil { // the last rows are no groups
		r.Barred = append(slices.Clip(r.Barred), "holdout")
	}
	values := j.Params.Values(e.z)
	if e.grad != nil {
		r.GradientLog = map[string]float64{}
	}
	for i, el := range j.Params.All {
		r.Names = append(r.Names, el.Name)
		r.Parameters[el.Name] = values[i]
		if e.grad != nil && el.Source == "" {
			r.GradientLog[el.Name] = e.grad[el.Index]
		}
	}
	for _, name := range j.Params.Zeros {
		r.Names, r.Constants = append(r.Names, name), append(r.Constants, name)
		r.Parameters[name] = 0
	}
	r.HeldOut = j.Held
	r.Scores.Objective = foldScore(s, e.z)
	if t := j.Sample.Scalings[0].Transform; t != nil {
		r.TargetTransform = &summary.TransformReport{Kind: t.Kind}
	}
	for c, t := range j.Sample.Scalings[0].XTransforms {
		if t != nil {
			if r.InputTransforms == nil {
				r.InputTransforms = map[string]*transform.Map{}
			}
			r.InputTransforms[j.Sample.Features[j.Sample.Columns[c]]] = t
		}
	}
	addObjective(&r, j, terms)
	r.Warnings = append(r.Warnings, jitterWarning(s)...)
	addTargets(&r, s, e.z, values)
	addColumns(&r, j.Sample)
	return r
}

func counts(all, full descent.Evaluations) summary.Counts {
	return summary.Counts{Value: all.Value, Gradient: all.Gradient, Infeasible: all.Infeasible, FullSizeValue: full.Value, FullSizeGradient: full.Gradient, Hessian: all.Hessian}
}

// addObjective adds the objective, the priors and the ties.
func addObjective(r *summary.Report, j *tuning.Job, terms graph.Terms) {
	r.ObjectiveName, r.NoiseFloorOption = j.ObjectiveName(), j.Options.NoiseFloor
	r.Objective = terms.NLML()
	if j.Options.Objective.Predictive() {
		r.Objective = terms.LeaveOneOut
	}
	r.Objective += terms.NegLogPrior
	if priors := j.Params.Priors; len(priors) > 0 {
		r.NegLogPrior, r.Priors = &terms.NegLogPrior, map[string]string{}
		for name, p := range priors {
			r.Priors[name] = p.String()
		}
	}
	for _, e := range j.Params.All {
		if e.Source != "" {
			if r.Tied == nil {
				r.Tied = map[string]string{}
			}
			r.Tied[e.Name] = e.Source
		}
	}
}

// addTuning adds the result of the optimizer.
func addTuning(r *summary.Report, j *tuning.Job, t *hyperopt.Result) {
	seed := j.Options.Settings.Seed
	r.Status = t.Status.String()
	r.GradientNorm, r.RelativeChange = summary.Finite(t.GradientNorm), summary.Finite(t.RelativeChange)
	r.Iterations, r.Seed = t.Iterations, &seed
	// nlml returns f if the objective is the NLML, and nil otherwise.
	nlml := func(f float64) *float64 {
		if r.ObjectiveName != string(problem.NLML) {
			return nil
		}
		return summary.Finite(f)
	}
	for i, s := range t.Starts {
		start := summary.StartReport{Objective: summary.Finite(s.F), NLML: nlml(s.F), Status: s.Status.String(), Iterations: s.Iterations, Best: i == t.BestStart}
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
			r.Path = append(r.Path, summary.StageReport{
				Step: s.Step, Rows: s.Rows, Starts: s.Starts, Optima: s.Optima, Objective: s.F, NLML: nlml(s.F), Parameters: j.Params.Named(s.Z),
				Value: s.Evaluations.Value, Gradient: s.Evaluations.Gradient, Seconds: s.Took.Seconds(),
			})
		}
	}
	for i, o := range listed(j, t) {
		r.Optima = append(r.Optima, summary.OptimumReport{
			Objective: o.F, NLML: nlml(o.F), Parameters: j.Params.Named(o.Z), Starts: o.Starts, Drawn: o.Drawn, Best: i == 0, Dropped: o.Dropped, Rows: o.Rows,
			Value: o.Evaluations.Value, Gradient: o.Evaluations.Gradient,
		})
	}
	if p := t.Plain; p != nil {
		r.Coarse = &summary.CoarseReport{Compared: true, Objective: summary.Finite(p.Coarse), PlainObjective: summary.Finite(p.F)}
	}
	r.Search = newSearch(j, t)
	r.Warnings = append(r.Warnings, t.Warnings...)
}

// newSearch reports what the starts say about the optimum.
func newSearch(j *tuning.Job, t *hyperopt.Result) *summary.SearchReport {
	s := &summary.Searched{
		Coverage: hyperopt.NewCoverage(t), Status: summary.StatusText(t.Status.String()), Converged: t.Status.Converged(), Fixed: t.Status == descent.StatusAllFixed,
		Given: j.Options.From != nil || len(j.Options.Set) > 0, Rows: j.N(), Restarts: j.Restarts(),
	}
	if n := len(t.Path); n > 0 && t.Path[n-1].Step == robustStep {
		s.Coverage, s.Continued = hyperopt.Coverage{Starts: 1, Best: 1, Next: math.Inf(1)}, "rows got noise variances of their own"
	} else if n > 0 && t.Path[n-1].Step == floorStep {
		s.Continued = "the noise got its floor"
	}
	leaves := map[string]bool{}
	for _, p := range j.Program().Params {
		leaves[p.Name[:strings.LastIndex(p.Name, ".")+1]] = true
		s.Parts = s.Parts || p.Kind == kernel.Period || len(leaves) > 1
	}
	return summary.NewSearch(s)
}

// explainBounds adds the warnings about parameters at their bounds and tiny noise.
func explainBounds(r *summary.Report, j *tuning.Job, at []descent.Bound, tests boundTests) {
	if i := r.Interpolation; i != nil && (i.AtBound || i.Degenerate) && r.NoiseFloor == nil {
		r.Warnings = append(r.Warnings, warning(i))
	}
	bounds := newBoundText(j.Prepared, at, tests, r.Relevance, r.Interpolation == nil && r.NoiseFloor == nil)
	r.LowerElsewhere, r.Warnings = slices.Concat(bounds.near, bounds.alive), append(r.Warnings, bounds.sentences(tests)...)
}

// addTests adds the scores of held-out rows, for each target.
func addTests(r *summary.Report, tests []*summary.TestScores) {
	for i, scores := range tests {
		r.Warnings = append(r.Warnings, summary.UndefinedWarning(scores.NLPD, "held-out rows")...)
		if r.Targets == nil {
			r.Test = scores
		} else {
			r.Targets[i].Test = scores
		}
	}
}

// addTargets fills in the parts that depend on a target: in the report itself for one target, in a
// part for each of several. Values in original units that all targets share stay in the report.
func addTargets(r *summary.Report, s *tuning.Placement, z, values []float64) {
	j, terms := s.Job, s.Terms()
	count := float64(j.Sample.T())
	r.Mean = j.MeanText()
	for i := range j.Sample.T() {
		u, coefficients := j.OriginalUnits(i, values), coefficientReports(s, i, z)
		for _, c := range coefficients {
			if u.Values[c.Name] = c.OriginalUnits; j.Model.MeanFree {
				u.Names = append(u.Names, c.Name)
			}
		}
		p := summary.TargetReport{
			Name: j.Sample.TargetName(i), DataFit: terms.DataFits[i], Complexity: terms.Complexity / count, Constant: terms.Constant / count,
			ParametersOriginalUnits: u.Values, MeanCoefficients: coefficients,
		}
		p.NLML = p.DataFit + p.Complexity + p.Constant + terms.Jacobian
		p.NLMLOriginalUnits = p.NLML + float64(j.N())*math.Log(j.Sample.Scalings[i].Unit())
		r.NLMLOriginalUnits += p.NLMLOriginalUnits
		r.Targets = append(r.Targets, p)
		r.NamesOriginal = u.Names
	}
	first := r.Targets[0]
	if len(first.MeanCoefficients) > 0 {
		r.MeanFit = problem.MeanGLS
		if j.Model.MeanFree {
			r.MeanFit = problem.MeanFree
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
		same := !slices.ContainsFunc(r.Targets, func(p summary.TargetReport) bool { return p.ParametersOriginalUnits[name] != v })
		if same {
			r.ParametersOriginalUnits[name] = v
		} else {
			own = append(own, name)
		}
		return !same
	})
	for i := range r.Targets {
		r.Targets[i].Names = own
	}
}

// coefficientReports returns a target's coefficients of the mean function at z.
func coefficientReports(s *tuning.Placement, target int, z []float64) []summary.Coefficient {
	beta, covariance := s.Coefficients(target, z)
	q, scaling, basis := len(beta), s.Job.Sample.Scalings[target], s.Job.Model.Basis
	if q == 0 {
		return nil
	}
	var out []summary.Coefficient
	toOriginal := basis.Original(scaling.XMean, scaling.XScale)
	for k, f := range basis {
		row := toOriginal[k*q : (k+1)*q]
		c := summary.Coefficient{Name: s.Job.Sample.Display(f.Name()), Value: beta[k]}
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
		if f.Period > 0 {
			c.Period = &f.Period
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
func addColumns(r *summary.Report, s *problem.Sample) {
	r.Columns = map[string]summary.ParameterColumn{}
	add := func(values map[string]float64) {
		for name := range values {
			if strings.HasPrefix(name, graph.NoiseVariance) {
				continue
			}
			indexed := s.Features.Indexed(name)
			_, rest, _ := strings.Cut(indexed, "[")
			digits := rest[:max(0, strings.IndexAny(rest, ",]"))]
			if c, err := strconv.Atoi(digits); err == nil && c < s.Data.D {
				r.Columns[name] = summary.ParameterColumn{Indexed: indexed, Index: c, Column: s.Data.FeatureNames[c]}
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
func expertsReport(j *problem.Prepared) *summary.ExpertsReport {
	p := j.Experts
	if p == nil {
		return nil
	}
	sorted := slices.Sorted(slices.Values(p.Sizes))
	return &summary.ExpertsReport{
		Method: j.Options.Experts, Combine: p.Combine, CombineChosen: p.Chosen && len(p.Sizes) > 1, Experts: len(p.Sizes), Split: p.Split, Merged: p.Merged,
		Smallest: sorted[0], Median: sorted[len(sorted)/2], Largest: sorted[len(sorted)-1], Sizes: p.Sizes, Inertia: p.Inertia,
	}
}

// addCalibration adds what a fit found of the rules, if there are experts.
func addCalibration(r *summary.Report, m *gp.Model) error {
	p, err := experts.Read(m.State)
	if p != nil {
		r.Experts.Temperature, r.Experts.Rules, r.Experts.Combine = p.Temperature, p.Scores, p.Combine
	}
	return err
}

// evaluation holds the point that a session evaluated last, its gradient or nil, and
// the counts of evaluations.
type evaluation struct {
	z, grad       []float64
	all, fullSize descent.Evaluations
}
