package fit

import (
	"fmt"
	"maps"
	"slices"

	"gpfit/fit/problem"
	"gpfit/fit/summary"
	"gpfit/gp"
	"gpfit/internal/sampler"
)

// Limits of Vehtari et al. (2021) for draws that can be trusted.
const (
	mostRHat        = 1.01
	leastESSByChain = 100
)

// modelDraws returns the draws as a model holds them, chain by chain.
func (p *posterior) modelDraws(d *draws) *gp.Draws {
	j := p.job
	out := &gp.Draws{Method: string(j.Options.Posterior)}
	kernel, coefficients := j.Program().NumParams, 0
	if j.Model.MeanFree {
		coefficients = len(j.Model.Basis)
	}
	for _, chain := range d.chains {
		for _, u := range chain {
			values := j.Params.Values(p.vector(u))
			noise := values[kernel : len(values)-coefficients]
			out.Theta = append(out.Theta, values[:kernel:kernel])
			if len(noise) > 0 {
				out.Noise = append(out.Noise, slices.Clone(noise))
			}
			if coefficients > 0 {
				out.Coefficients = append(out.Coefficients, slices.Clone(values[len(values)-coefficients:]))
			}
		}
	}
	if j.Sample.Noise.Labels != nil {
		out.Group = slices.Clone(j.Sample.Noise.Group)
	}
	return out
}

// report summarises the draws.
func (p *posterior) report(d *draws) *summary.PosteriorReport {
	j := p.job
	r := &summary.PosteriorReport{Method: j.Options.Posterior, Chains: len(d.chains), Draws: len(d.chains[0]), Seed: j.Options.Settings.Seed, Stats: d.diagnosed, Warnings: []string{},
		Parameters: map[string]summary.PosteriorSummary{}, DefaultPriors: map[string]string{}}
	for _, c := range p.free {
		if text := c.prior(j.Params.Free[c.index].Log); text != "" {
			r.DefaultPriors[c.name] = text
		}
		r.Names = append(r.Names, c.name)
	}
	for _, c := range d.diagnosed {
		r.Warmup = j.Options.Warmup()
		r.StepSizes, r.Gradients = append(r.StepSizes, c.StepSize), r.Gradients+c.Gradients
		for _, divergent := range c.Divergent {
			if divergent {
				r.Divergences++
			}
		}
	}
	original := make([][]map[string]float64, len(d.chains))
	for c, chain := range d.chains {
		var values []map[string]float64
		for _, u := range chain {
			z := p.vector(u)
			values = append(values, j.Params.Named(z))
			original[c] = append(original[c], inOriginalUnits(j.Prepared, j.Params.Values(z)))
		}
		r.Values = append(r.Values, values)
	}
	for _, name := range r.Names {
		r.Parameters[name] = summarize(r, r.Values, name)
	}
	for _, name := range slices.Sorted(maps.Keys(original[0][0])) {
		if r.OriginalUnits == nil {
			r.OriginalUnits = map[string]summary.PosteriorSummary{}
		}
		if s := summarize(r, original, name); s.SD > 0 { // a fixed parameter has none
			r.OriginalUnits[name] = s
		}
	}
	judge(r)
	return r
}

// summarize summarises the draws of a name.
func summarize(r *summary.PosteriorReport, draws [][]map[string]float64, name string) summary.PosteriorSummary {
	chains := make([][]float64, len(draws))
	for c := range draws {
		for _, values := range draws[c] {
			chains[c] = append(chains[c], values[name])
		}
	}
	s := summary.PosteriorSummary{DrawSummary: sampler.Summarize(chains)}
	if r.Stats != nil {
		s.RHat, s.ESSBulk, s.ESSTail = summary.Finite(s.DrawSummary.RHat), summary.Finite(s.DrawSummary.ESSBulk), summary.Finite(s.DrawSummary.ESSTail)
	}
	// The pointers say what is defined.
	s.DrawSummary.RHat, s.DrawSummary.ESSBulk, s.DrawSummary.ESSTail = 0, 0, 0
	return s
}

// judge adds warnings about draws that should not be trusted.
func judge(r *summary.PosteriorReport) {
	if r.Stats == nil {
		return
	}
	var apart, few []string
	least := float64(leastESSByChain * r.Chains)
	for _, name := range r.Names {
		s := r.Parameters[name]
		if s.RHat == nil || *s.RHat > mostRHat {
			apart = append(apart, name)
		}
		if s.ESSBulk == nil || *s.ESSBulk < least || s.ESSTail == nil || *s.ESSTail < least {
			few = append(few, name)
		}
	}
	if r.Divergences > 0 {
		r.Warnings = append(r.Warnings, fmt.Sprintf("%d of %d draws of the posterior diverged: the draws may miss a part of it; give a prior or bounds to the parameters that the data do not determine", r.Divergences, r.Chains*r.Draws))
	}
	if len(apart) > 0 {
		r.Warnings = append(r.Warnings, fmt.Sprintf("the chains of the posterior disagree about %s (R-hat above %g): draw more with option posterior-warmup and option posterior-draws", problem.Listed(apart), mostRHat))
	}
	if len(few) > 0 {
		r.Warnings = append(r.Warnings, fmt.Sprintf("few effective draws of %s (less than %d for each chain): draw more with option posterior-draws", problem.Listed(few), leastESSByChain))
	}
}
