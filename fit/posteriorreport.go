package fit

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

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
	out := &gp.Draws{Method: string(j.opts.Posterior)}
	kernel, coefficients := j.Program().NumParams, 0
	if j.model.meanFree {
		coefficients = len(j.model.basis)
	}
	for _, chain := range d.chains {
		for _, u := range chain {
			values := j.params.values(p.vector(u))
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
	if j.sample.noise.Labels != nil {
		out.Group = slices.Clone(j.sample.noise.Group)
	}
	return out
}

// report summarises the draws.
func (p *posterior) report(d *draws) *PosteriorReport {
	j := p.job
	r := &PosteriorReport{Method: j.opts.Posterior, Chains: len(d.chains), Draws: len(d.chains[0]), Seed: j.opts.Settings.Seed, stats: d.diagnosed, Warnings: []string{},
		Parameters: map[string]PosteriorSummary{}, DefaultPriors: map[string]string{}}
	for _, c := range p.free {
		if text := c.prior(j.params.free[c.index].Log); text != "" {
			r.DefaultPriors[c.name] = text
		}
		r.names = append(r.names, c.name)
	}
	for _, c := range d.diagnosed {
		r.Warmup = j.opts.posteriorWarmup()
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
			values = append(values, j.params.named(z))
			original[c] = append(original[c], j.inOriginalUnits(j.params.values(z)))
		}
		r.draws = append(r.draws, values)
	}
	for _, name := range r.names {
		r.Parameters[name] = r.summarize(r.draws, name)
	}
	for _, name := range slices.Sorted(maps.Keys(original[0][0])) {
		if r.OriginalUnits == nil {
			r.OriginalUnits = map[string]PosteriorSummary{}
		}
		if s := r.summarize(original, name); s.SD > 0 { // a fixed parameter has none
			r.OriginalUnits[name] = s
		}
	}
	r.judge()
	return r
}

// summarize summarises the draws of a name.
func (r *PosteriorReport) summarize(draws [][]map[string]float64, name string) PosteriorSummary {
	chains := make([][]float64, len(draws))
	for c := range draws {
		for _, values := range draws[c] {
			chains[c] = append(chains[c], values[name])
		}
	}
	s := PosteriorSummary{DrawSummary: sampler.Summarize(chains)}
	if r.stats != nil {
		s.RHat, s.ESSBulk, s.ESSTail = Finite(s.DrawSummary.RHat), Finite(s.DrawSummary.ESSBulk), Finite(s.DrawSummary.ESSTail)
	}
	// The pointers say what is defined.
	s.DrawSummary.RHat, s.DrawSummary.ESSBulk, s.DrawSummary.ESSTail = 0, 0, 0
	return s
}

// judge adds warnings about draws that should not be trusted.
func (r *PosteriorReport) judge() {
	if r.stats == nil {
		return
	}
	var apart, few []string
	for _, name := range r.names {
		s := r.Parameters[name]
		if s.RHat == nil || *s.RHat > mostRHat {
			apart = append(apart, name)
		}
		least := float64(leastESSByChain * r.Chains)
		if s.ESSBulk == nil || *s.ESSBulk < least || s.ESSTail == nil || *s.ESSTail < least {
			few = append(few, name)
		}
	}
	if r.Divergences > 0 {
		r.Warnings = append(r.Warnings, fmt.Sprintf("%d of %d draws of the posterior diverged: the draws may miss a part of it; give a prior or bounds to the parameters that the data do not determine", r.Divergences, r.Chains*r.Draws))
	}
	if len(apart) > 0 {
		r.Warnings = append(r.Warnings, fmt.Sprintf("the chains of the posterior disagree about %s (R-hat above %g): draw more with option posterior-warmup and option posterior-draws", listed(apart), mostRHat))
	}
	if len(few) > 0 {
		r.Warnings = append(r.Warnings, fmt.Sprintf("few effective draws of %s (less than %d for each chain): draw more with option posterior-draws", listed(few), leastESSByChain))
	}
}

// writePosterior prints the summary of the draws.
func (r *Report) writePosterior(b *strings.Builder) {
	p := r.Posterior
	if p == nil {
		return
	}
	if p.stats != nil || p.Warmup > 0 {
		fmt.Fprintf(b, "\nposterior of the parameters: hmc (NUTS), %d chains of %d draws after %d, %d gradients, %d divergences\n", p.Chains, p.Draws, p.Warmup, p.Gradients, p.Divergences)
	} else {
		fmt.Fprintf(b, "\nposterior of the parameters: laplace, %d draws of the normal distribution around the mode\n", p.Draws)
	}
	names := p.names
	if names == nil { // of a record
		names = slices.Sorted(maps.Keys(p.Parameters))
	}
	width := 20
	for _, name := range names {
		width = max(width, len([]rune(name)))
	}
	number := func(v *float64, format string) string {
		if v == nil {
			return "-"
		}
		return strconv.FormatFloat(*v, format[0], int(format[1]-'0'), 64)
	}
	fmt.Fprintf(b, "%-*s  %11s %11s %11s %11s %11s  %6s  %8s  %8s\n", width, "scaled", "mean", "sd", "2.5 %", "median", "97.5 %", "R-hat", "ESS bulk", "ESS tail")
	for _, name := range names {
		s := p.Parameters[name]
		fmt.Fprintf(b, "%-*s  %11.5g %11.5g %11.5g %11.5g %11.5g  %6s  %8s  %8s\n", width, name, s.Mean, s.SD, s.Lower, s.Median, s.Upper, number(s.RHat, "f3"), number(s.ESSBulk, "f0"), number(s.ESSTail, "f0"))
	}
	for _, name := range slices.Sorted(maps.Keys(p.DefaultPriors)) {
		fmt.Fprintf(b, "default prior of %s: %s\n", name, p.DefaultPriors[name])
	}
}
