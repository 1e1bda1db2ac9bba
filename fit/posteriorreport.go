package fit

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/floats"

	"gpfit/fit/internal/sampler"
	"gpfit/fit/problem"
	"gpfit/fit/summary"
	"gpfit/gp"
)

// Limits of Vehtari et al. (2021) for draws that can be trusted.
const (
	mostRHat        = 1.01
	leastESSByChain = 100
)

// modelDraws returns the draws as a model holds them, chain by chain.
func (p *posterior) modelDraws(d *draws) *gp.Draws {
	j := p.job
	out := &gp.Draws{Method: string(problem.Laplace)}
	if j.Options.Posterior == problem.HMC {
		out.Method = string(problem.HMC)
	}
	kernel, coefficients := j.Program().NumParams, 0
	if j.Model.MeanFree {
		coefficients = len(j.Model.Basis)
	}
	for _, chain := range d.chains {
		for _, u := range chain {
			values := j.Params.Values(p.vector(u))
			noise := values[kernel : len(values)-coefficients]
			if t := j.Sample.Scalings[0].Transform; t != nil && t.Kind.Tuned() {
				out.Lambda = append(out.Lambda, noise[len(noise)-1])
				noise = noise[:len(noise)-1]
			}
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

// report summarizes the draws.
func (p *posterior) report(d *draws) *summary.PosteriorReport {
	j := p.job
	r := &summary.PosteriorReport{Method: j.Options.Posterior, Chains: len(d.chains), Draws: len(d.chains[0]), Seed: j.Options.Settings.Seed, Stats: d.diagnosed, Warnings: []string{},
		Parameters: map[string]sampler.DrawSummary{}, DefaultPriors: map[string]string{}}
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
			r.OriginalUnits = map[string]sampler.DrawSummary{}
		}
		if s := summarize(r, original, name); s.SD > 0 { // a fixed parameter has none
			r.OriginalUnits[name] = s
		}
	}
	p.addModes(r, d)
	if r.Stats == nil {
		r.ParetoK = summary.Finite(d.k)
	}
	switch j.Options.Posterior {
	case problem.HMC:
		judge(r)
	case problem.Laplace:
		judgeLaplace(r, d)
	default: // the weights correct what a warning would be about
		r.Warnings = []string{}
	}
	return r
}

// averages says what predictions average over after option posterior auto.
func averages(j *problem.Prepared, d *draws) string {
	return fmt.Sprintf("average over %d draws of the parameters (%s; k-hat %.2f)", len(d.chains[0]), j.Averaging, max(d.k, 0))
}

// addModes lists the modes, and warns if the fit is at another one than the draws.
func (p *posterior) addModes(r *summary.PosteriorReport, d *draws) {
	values := func(m *mode) map[string]float64 { return p.job.Params.Named(p.vector(m.u)) }
	for i, m := range d.modes {
		chains := len(slices.DeleteFunc(slices.Clone(d.of), func(k int) bool { return k != i }))
		r.Modes = append(r.Modes, summary.PosteriorMode{Parameters: values(m), LogEvidence: m.evidence() - d.modes[0].evidence(), Share: m.share, Chains: chains, Fit: m.fitted})
		if behind := -r.Modes[i].LogEvidence; m.fitted && behind > nearNats {
			r.Warnings = append(r.Warnings, fmt.Sprintf("the fit is not at the main mode of the posterior: the evidence of a mode with %s is larger by a factor of e^%.3g, and the draws are from there; fit again with more restarts (option restarts), or begin at that mode (option set)",
				p.contrast(d.modes[0], m), behind))
		}
	}
}

// contrast names the values at mode a of the two parameters that differ most from mode b.
func (p *posterior) contrast(a, b *mode) string {
	apart, order := make([]float64, len(a.u)), make([]int, len(a.u))
	for i := range a.u {
		apart[i] = -math.Abs(a.u[i]-b.u[i]) / math.Sqrt(a.covariance.At(i, i)+b.covariance.At(i, i))
	}
	floats.ArgsortStable(apart, order)
	from, to := p.job.Params.Named(p.vector(a.u)), p.job.Params.Named(p.vector(b.u))
	var parts []string
	for _, i := range order[:min(2, len(order))] {
		name := p.free[i].name
		parts = append(parts, fmt.Sprintf("%s = %.4g (the fit: %.4g)", name, from[name], to[name]))
	}
	return strings.Join(parts, " and ")
}

// judgeLaplace adds warnings about directions without a curvature.
func judgeLaplace(r *summary.PosteriorReport, d *draws) {
	for _, m := range d.modes {
		for _, names := range m.flat {
			r.Warnings = append(r.Warnings, fmt.Sprintf("the posterior is flat or not at a maximum along %s, and laplace gives this direction the width of a weak prior: a prior (option prior) or bounds (option bounds) can determine it, and option posterior hmc needs no curvature", problem.Listed(names)))
		}
	}
}

// summarize summarizes the draws of a name.
func summarize(r *summary.PosteriorReport, draws [][]map[string]float64, name string) sampler.DrawSummary {
	chains := make([][]float64, len(draws))
	for c := range draws {
		for _, values := range draws[c] {
			chains[c] = append(chains[c], values[name])
		}
	}
	s := sampler.Summarize(chains)
	if r.Stats == nil {
		s.RHat, s.ESSBulk, s.ESSTail = nil, nil, nil
	}
	return s
}

// judge adds warnings about chains that should not be trusted.
func judge(r *summary.PosteriorReport) {
	var apart, scarce []string
	least := float64(leastESSByChain * r.Chains)
	for _, name := range r.Names {
		s := r.Parameters[name]
		if s.RHat != nil && *s.RHat > mostRHat || s.RHat == nil && r.Chains > 1 {
			apart = append(apart, name)
		}
		if s.ESSBulk == nil || *s.ESSBulk < least || s.ESSTail == nil || *s.ESSTail < least {
			scarce = append(scarce, name)
		}
	}
	if r.Divergences > 0 {
		r.Warnings = append(r.Warnings, fmt.Sprintf("%d of %d draws of the posterior diverged: the draws may miss a part of it; give a prior or bounds to the parameters that the data do not determine", r.Divergences, r.Chains*r.Draws))
	}
	remedy := "draw more with option posterior-warmup and option posterior-draws"
	if r.Modes[0].Chains < r.Chains {
		remedy = "they began at several modes, in proportion to estimates of their probability, and may stay there; a prior (option prior) or bounds (option bounds) can choose one"
	}
	if len(apart) > 0 {
		parts := map[bool]string{true: "halves of the chain", false: "chains"}[r.Chains == 1]
		r.Warnings = append(r.Warnings, fmt.Sprintf("the %s of the posterior disagree about %s (R-hat above %g): %s", parts, problem.Listed(apart), mostRHat, remedy))
	}
	if len(scarce) > 0 {
		r.Warnings = append(r.Warnings, fmt.Sprintf("few effective draws of %s (less than %d for each chain): draw more with option posterior-draws", problem.Listed(scarce), leastESSByChain))
	}
}
