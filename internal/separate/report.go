package separate

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"gpfit/experts"
	"gpfit/fit/summary"
	"gpfit/gp"
	"gpfit/internal/tuning"
)

// report returns the report of all parts: sums of their objectives and evaluations, and
// medians of their parameters.
func report(j *tuning.Job, all []tuned, about *summary.ExpertsReport) summary.Report {
	first, seed := all[0].report, j.Options.Settings.Seed
	r := summary.Report{
		Type: "fit", SchemaVersion: summary.SchemaVersion, N: j.N(), D: j.D(), Kernel: first.Kernel, Mean: first.Mean, MeanFit: first.MeanFit, Device: first.Device, Method: experts.Name,
		Encoding: first.Encoding, Experts: about, ObjectiveName: first.ObjectiveName, Priors: first.Priors, Tied: first.Tied, Constants: first.Constants,
		Names: first.Names, NamesOriginal: first.NamesOriginal, Columns: first.Columns, HeldOut: j.Held, Seed: &seed,
		Status: status(all), Warnings: append([]string{}, j.Warnings()...),
	}
	r.Experts.Parameters = j.Options.ExpertParameters
	for _, part := range all {
		addPart(&r, &part.report)
	}
	median := func(of func(r *summary.Report) map[string]float64) map[string]float64 {
		out := map[string]float64{}
		for name := range of(&first) {
			out[name] = medians(j, 1, func(k, _ int) float64 { return of(&all[k].report)[name] })[0]
		}
		return out
	}
	r.Parameters = median(func(r *summary.Report) map[string]float64 { return r.Parameters })
	r.ParametersOriginalUnits = median(func(r *summary.Report) map[string]float64 { return r.ParametersOriginalUnits })
	for t, one := range first.Targets {
		one.ParametersOriginalUnits = median(func(r *summary.Report) map[string]float64 { return r.Targets[t].ParametersOriginalUnits })
		one.NLML, one.NLMLOriginalUnits, one.DataFit, one.Complexity, one.Constant, one.MeanCoefficients = 0, 0, 0, 0, 0, nil
		for _, part := range all {
			p := part.report.Targets[t]
			one.NLML, one.NLMLOriginalUnits = one.NLML+p.NLML, one.NLMLOriginalUnits+p.NLMLOriginalUnits
			one.DataFit, one.Complexity, one.Constant = one.DataFit+p.DataFit, one.Complexity+p.Complexity, one.Constant+p.Constant
		}
		r.Targets = append(r.Targets, one)
	}
	addPartWarnings(&r, all)
	return r
}

// addPart adds what a part adds to sums, and its entry in the list of experts.
func addPart(r *summary.Report, p *summary.Report) {
	for sum, more := range map[*float64]float64{
		&r.NLML: p.NLML, &r.NLMLOriginalUnits: p.NLMLOriginalUnits, &r.Objective: p.Objective, &r.DataFit: p.DataFit, &r.Complexity: p.Complexity,
		&r.Constant: p.Constant, &r.EvaluationSeconds: p.EvaluationSeconds,
	} {
		*sum += more
	}
	if p.NegLogPrior != nil {
		sum := *p.NegLogPrior
		if r.NegLogPrior != nil {
			sum += *r.NegLogPrior
		}
		r.NegLogPrior = &sum
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

// addPartWarnings adds the warnings of the parts, each once, with the experts that have it.
func addPartWarnings(r *summary.Report, all []tuned) {
	var texts []string
	of := map[string][]string{}
	for k, part := range all {
		for _, text := range part.report.Warnings {
			if slices.Contains(r.Warnings, text) {
				continue
			}
			if of[text] == nil {
				texts = append(texts, text)
			}
			of[text] = append(of[text], fmt.Sprint(k))
		}
	}
	for _, text := range texts {
		who := "local expert " + of[text][0]
		if len(of[text]) > 1 {
			who = "local experts " + strings.Join(of[text], ", ")
		}
		r.Warnings = append(r.Warnings, who+": "+text)
	}
}

// medians returns n medians over the parts, weighted by their rows; nil for none. of returns
// number i of part k.
func medians(j *tuning.Job, n int, of func(k, i int) float64) []float64 {
	var out []float64
	for i := range n {
		order := make([]int, len(j.Parts))
		for k := range order {
			order[k] = k
		}
		slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(of(a, i), of(b, i)) })
		below := 0
		for _, k := range order {
			if below += j.Parts[k].N(); 2*below >= j.N() {
				out = append(out, of(k, i))
				break
			}
		}
	}
	return out
}

// status returns the status of the first part that did not converge, or of the first.
func status(all []tuned) string {
	for _, part := range all {
		if !strings.Contains(part.model.Status, "converged") {
			return part.model.Status
		}
	}
	return all[0].model.Status
}

// tuned is the result of a part.
type tuned struct {
	report summary.Report
	model  *gp.Model
	err    error
}
