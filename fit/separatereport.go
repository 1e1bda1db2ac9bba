package fit

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"gpfit/experts"
	"gpfit/gp"
)

// tuned is the result of a part.
type tuned struct {
	report Report
	model  *gp.Model
	err    error
}

// partsReport returns the report of all parts: sums of their objectives and evaluations, and
// medians of their parameters.
func (j *Job) partsReport(all []tuned) Report {
	first, seed := all[0].report, j.opts.Settings.Seed
	r := Report{
		Type: "fit", SchemaVersion: SchemaVersion, N: j.N(), D: j.D(), Kernel: first.Kernel, Mean: first.Mean, MeanFit: first.MeanFit, Device: first.Device, Method: experts.Name,
		Encoding: first.Encoding, Experts: j.expertsReport(), ObjectiveName: first.ObjectiveName, Priors: first.Priors, Tied: first.Tied, Constants: first.Constants,
		Names: first.Names, NamesOriginal: first.NamesOriginal, Columns: first.Columns, HeldOut: j.heldOut, Seed: &seed,
		Status: partsStatus(all), Warnings: append([]string{}, j.Warnings()...),
	}
	r.Experts.Parameters = j.opts.ExpertParameters
	for _, part := range all {
		r.addPart(&part.report)
	}
	median := func(of func(r *Report) map[string]float64) map[string]float64 {
		out := map[string]float64{}
		for name := range of(&first) {
			out[name] = j.medians(1, func(k, _ int) float64 { return of(&all[k].report)[name] })[0]
		}
		return out
	}
	r.Parameters = median(func(r *Report) map[string]float64 { return r.Parameters })
	r.ParametersOriginalUnits = median(func(r *Report) map[string]float64 { return r.ParametersOriginalUnits })
	for t, one := range first.Targets {
		one.ParametersOriginalUnits = median(func(r *Report) map[string]float64 { return r.Targets[t].ParametersOriginalUnits })
		one.NLML, one.NLMLOriginalUnits, one.DataFit, one.Complexity, one.Constant, one.MeanCoefficients = 0, 0, 0, 0, 0, nil
		for _, part := range all {
			p := part.report.Targets[t]
			one.NLML, one.NLMLOriginalUnits = one.NLML+p.NLML, one.NLMLOriginalUnits+p.NLMLOriginalUnits
			one.DataFit, one.Complexity, one.Constant = one.DataFit+p.DataFit, one.Complexity+p.Complexity, one.Constant+p.Constant
		}
		r.Targets = append(r.Targets, one)
	}
	r.addPartWarnings(all)
	return r
}

// addPart adds what a part adds to sums, and its entry in the list of experts.
func (r *Report) addPart(p *Report) {
	r.NLML, r.NLMLOriginalUnits, r.Objective = r.NLML+p.NLML, r.NLMLOriginalUnits+p.NLMLOriginalUnits, r.Objective+p.Objective
	r.DataFit, r.Complexity, r.Constant = r.DataFit+p.DataFit, r.Complexity+p.Complexity, r.Constant+p.Constant
	if p.NegLogPrior != nil {
		sum := *p.NegLogPrior
		if r.NegLogPrior != nil {
			sum += *r.NegLogPrior
		}
		r.NegLogPrior = &sum
	}
	r.Jitter, r.Residual, r.GradientNorm = max(r.Jitter, p.Jitter), larger(r.Residual, p.Residual), larger(r.GradientNorm, p.GradientNorm)
	r.Iterations += p.Iterations
	r.EvaluationSeconds += p.EvaluationSeconds
	e, more := &r.Evaluations, p.Evaluations
	e.Value, e.Gradient, e.Infeasible = e.Value+more.Value, e.Gradient+more.Gradient, e.Infeasible+more.Infeasible
	e.FullSizeValue, e.FullSizeGradient = e.FullSizeValue+more.FullSizeValue, e.FullSizeGradient+more.FullSizeGradient
	r.Experts.Each = append(r.Experts.Each, ExpertReport{
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
func (r *Report) addPartWarnings(all []tuned) {
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

// spread returns the lines about the parameters of experts with their own.
func (e *ExpertsReport) spread(names []string) string {
	if e == nil || len(e.Each) == 0 {
		return ""
	}
	width := 22
	for _, name := range names {
		width = max(width, len([]rune(name)))
	}
	out := fmt.Sprintf("\n%-*s  %12s  %12s  %12s\n", width, "of the experts, scaled", "smallest", "median", "largest")
	for _, name := range names {
		var values []float64
		for _, one := range e.Each {
			values = append(values, one.Parameters[name])
		}
		slices.Sort(values)
		out += fmt.Sprintf("%-*s  %12.6g  %12.6g  %12.6g\n", width, name, values[0], values[len(values)/2], values[len(values)-1])
	}
	return out
}

// medians returns n medians over the parts, weighted by their rows; nil for none. of returns
// number i of part k.
func (j *Job) medians(n int, of func(k, i int) float64) []float64 {
	var out []float64
	for i := range n {
		order := make([]int, len(j.parts))
		for k := range order {
			order[k] = k
		}
		slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(of(a, i), of(b, i)) })
		below := 0
		for _, k := range order {
			if below += j.parts[k].N(); 2*below >= j.N() {
				out = append(out, of(k, i))
				break
			}
		}
	}
	return out
}

// partsStatus returns the status of the first part that did not converge, or of the first.
func partsStatus(all []tuned) string {
	for _, part := range all {
		if !strings.Contains(part.model.Status, "converged") {
			return part.model.Status
		}
	}
	return all[0].model.Status
}
