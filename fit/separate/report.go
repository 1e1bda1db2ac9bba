package separate

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"gpfit/fit/problem"
	"gpfit/fit/summary"
	"gpfit/fit/tuning"
	"gpfit/gp"
	"gpfit/method/experts"
)

// localJob is the job of an expert, and its result.
type localJob struct {
	index  int
	rows   []int
	job    *tuning.Job
	report summary.Report
	model  *gp.Model
	err    error
}

// named adds the expert to an error.
func (p *localJob) named(err error) error {
	return fmt.Errorf("local expert %d (%d rows): %w", p.index, len(p.rows), err)
}

// partsOf returns the parts of a job.
func partsOf(j *tuning.Job) ([]*localJob, error) {
	all := make([]*localJob, len(j.Experts.Centres))
	for k := range all {
		all[k] = &localJob{index: k}
	}
	for i, k := range j.Experts.Assign(j.Sample.Points) {
		all[k].rows = append(all[k].rows, i)
	}
	for _, p := range all {
		own, err := j.Part(p.rows)
		if err != nil {
			return nil, p.named(err)
		}
		p.job = tuning.New(own, problem.Events{Fallback: j.Events.Fallback, OnWarning: j.Events.OnWarning})
	}
	return all, nil
}

// median returns the median of a number over the parts, weighted by their rows.
func median(all []*localJob, of func(*localJob) float64) float64 {
	sorted, total, below := slices.Clone(all), 0, 0
	slices.SortStableFunc(sorted, func(a, b *localJob) int { return cmp.Compare(of(a), of(b)) })
	for _, p := range all {
		total += len(p.rows)
	}
	k := slices.IndexFunc(sorted, func(p *localJob) bool {
		below += len(p.rows)
		return 2*below >= total
	})
	return of(sorted[k])
}

// status returns the status of the first part that did not converge, or of the first.
func status(all []*localJob) string {
	i := slices.IndexFunc(all, func(p *localJob) bool { return !strings.Contains(p.model.Status, "converged") })
	return all[max(i, 0)].model.Status
}

// report returns the report of all parts: sums of their objectives and evaluations, and
// medians of their parameters.
func report(j *tuning.Job, all []*localJob, about *summary.ExpertsReport) summary.Report {
	first, seed := all[0].report, j.Options.Settings.Seed
	r := summary.Report{
		Type: "fit", SchemaVersion: summary.SchemaVersion, N: j.N(), D: j.D(), Kernel: first.Kernel, Isotropic: first.Isotropic, Mean: first.Mean, MeanFit: first.MeanFit, Device: first.Device, Method: experts.Name,
		Encoding: first.Encoding, Experts: about, ObjectiveName: first.ObjectiveName, Priors: first.Priors, Tied: first.Tied, Constants: first.Constants,
		Names: first.Names, NamesOriginal: first.NamesOriginal, Columns: first.Columns, HeldOut: j.Held, Seed: &seed,
		Status: status(all), Warnings: append([]string{}, j.Warnings()...),
	}
	r.Experts.Parameters = j.Options.ExpertParameters
	medians := func(of func(r *summary.Report) map[string]float64) map[string]float64 {
		out := map[string]float64{}
		for name := range of(&first) {
			out[name] = median(all, func(p *localJob) float64 { return of(&p.report)[name] })
		}
		return out
	}
	r.Parameters = medians(func(r *summary.Report) map[string]float64 { return r.Parameters })
	r.ParametersOriginalUnits = medians(func(r *summary.Report) map[string]float64 { return r.ParametersOriginalUnits })
	for t, one := range first.Targets {
		one.ParametersOriginalUnits = medians(func(r *summary.Report) map[string]float64 { return r.Targets[t].ParametersOriginalUnits })
		one.NLML, one.NLMLOriginalUnits, one.DataFit, one.Complexity, one.Constant, one.MeanCoefficients = 0, 0, 0, 0, 0, nil
		r.Targets = append(r.Targets, one)
	}
	var searches []*summary.SearchReport
	for _, p := range all {
		addPart(&r, &p.report)
		searches = append(searches, p.report.Search)
	}
	r.Search = summary.SearchOfParts(searches)
	addWarnings(&r, all)
	return r
}

// addPart adds the numbers of a part to the sums, and its entry to the list of experts.
func addPart(r *summary.Report, p *summary.Report) {
	sums := map[*float64]float64{
		&r.NLML: p.NLML, &r.NLMLOriginalUnits: p.NLMLOriginalUnits, &r.Objective: p.Objective, &r.DataFit: p.DataFit, &r.Complexity: p.Complexity,
		&r.Constant: p.Constant, &r.EvaluationSeconds: p.EvaluationSeconds,
	}
	for t := range r.Targets {
		sum, one := &r.Targets[t], p.Targets[t]
		sums[&sum.NLML], sums[&sum.NLMLOriginalUnits] = one.NLML, one.NLMLOriginalUnits
		sums[&sum.DataFit], sums[&sum.Complexity], sums[&sum.Constant] = one.DataFit, one.Complexity, one.Constant
	}
	if p.NegLogPrior != nil {
		if r.NegLogPrior == nil {
			r.NegLogPrior = new(float64)
		}
		sums[r.NegLogPrior] = *p.NegLogPrior
	}
	for sum, more := range sums {
		*sum += more
	}
	r.Jitter, r.Residual, r.GradientNorm = max(r.Jitter, p.Jitter), larger(r.Residual, p.Residual), larger(r.GradientNorm, p.GradientNorm)
	r.Iterations += p.Iterations
	e, more := &r.Evaluations, p.Evaluations
	e.Value, e.Gradient, e.Infeasible = e.Value+more.Value, e.Gradient+more.Gradient, e.Infeasible+more.Infeasible
	e.FullSizeValue, e.FullSizeGradient = e.FullSizeValue+more.FullSizeValue, e.FullSizeGradient+more.FullSizeGradient
	r.Experts.Each = append(r.Experts.Each, summary.ExpertReport{
		Rows: p.N, Status: p.Status, NLML: p.NLML, Objective: p.Objective, Parameters: p.Parameters, ParametersOriginalUnits: p.ParametersOriginalUnits,
		AtBound: p.AtBound, StdErrors: p.StdErrors, GradientNorm: p.GradientNorm, Evaluations: p.Evaluations, Seconds: p.Seconds,
	})
}

// larger returns the larger of two numbers that may be missing.
func larger(a, b *float64) *float64 {
	if a == nil || b != nil && *b > *a {
		return b
	}
	return a
}

// addWarnings adds the warnings of the parts, each once, with the experts that have it.
func addWarnings(r *summary.Report, all []*localJob) {
	var texts []string
	of := map[string][]string{}
	for _, p := range all {
		for _, text := range p.report.Warnings {
			if slices.Contains(r.Warnings, text) {
				continue
			}
			if of[text] == nil {
				texts = append(texts, text)
			}
			of[text] = append(of[text], fmt.Sprint(p.index))
		}
	}
	for _, text := range texts {
		who := "local expert "
		if len(of[text]) > 1 {
			who = "local experts "
		}
		r.Warnings = append(r.Warnings, who+strings.Join(of[text], ", ")+": "+text)
	}
}
