package summary

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
)

// WriteDraws writes the draws of a posterior as JSON that ArviZ reads (from_json): a group
// "posterior" with an array of chains and draws for each parameter, in scaled units, and
// for HMC a group "sample_stats". A report from a file has no draws.
func (r *PosteriorReport) WriteDraws(w io.Writer) error {
	if r.Values == nil {
		return errors.New("fit: the report has no draws")
	}
	posterior := map[string][][]float64{}
	for _, name := range r.Names {
		for _, chain := range r.Values {
			var values []float64
			for _, draw := range chain {
				values = append(values, draw[name])
			}
			posterior[name] = append(posterior[name], values)
		}
	}
	out := map[string]any{
		"posterior":       posterior,
		"posterior_attrs": map[string]any{"inference_library": "gpfit", "method": r.Method, "seed": r.Seed, "units": "scaled"},
	}
	if r.Stats != nil {
		stats := map[string]any{}
		add := func(name string, of func(c int) any) {
			var all []any
			for c := range r.Stats {
				all = append(all, of(c))
			}
			stats[name] = all
		}
		add("lp", func(c int) any { return r.Stats[c].LogDensity })
		add("diverging", func(c int) any { return r.Stats[c].Divergent })
		add("tree_depth", func(c int) any { return r.Stats[c].Depth })
		add("acceptance_rate", func(c int) any { return r.Stats[c].Accept })
		add("step_size", func(c int) any {
			steps := make([]float64, len(r.Stats[c].Draws))
			for i := range steps {
				steps[i] = r.Stats[c].StepSize
			}
			return steps
		})
		out["sample_stats"] = stats
	}
	return json.NewEncoder(w).Encode(out)
}

// posteriorColumns are the columns of the summary of the draws.
var posteriorColumns = []entry{
	{path: rowName, label: "scaled", format: "%-*s "},
	{path: "posterior.parameters.*.mean", label: "mean", format: " %11.5g"}, {path: "posterior.parameters.*.sd", label: "sd", format: " %11.5g"},
	{path: "posterior.parameters.*.q2_5", label: "2.5 %", format: " %11.5g"}, {path: "posterior.parameters.*.median", label: "median", format: " %11.5g"},
	{path: "posterior.parameters.*.q97_5", label: "97.5 %", format: " %11.5g"}, {path: "posterior.parameters.*.r_hat", label: "R-hat", format: "  %6.3f", none: "-"},
	{path: "posterior.parameters.*.ess_bulk", label: "ESS bulk", format: "  %8.0f", none: "-"}, {path: "posterior.parameters.*.ess_tail", label: "ESS tail", format: "  %8.0f", none: "-"},
}

// writePosterior prints the summary of the draws.
func (r *Report) writePosterior(w *writer) {
	p := r.Posterior
	if p == nil {
		return
	}
	if p.Stats != nil || p.Warmup > 0 {
		fmt.Fprintf(w, "\nposterior of the parameters: hmc (NUTS), %d chains of %d draws after %d, %d gradients, %d divergences\n", p.Chains, p.Draws, p.Warmup, p.Gradients, p.Divergences)
	} else {
		fmt.Fprintf(w, "\nposterior of the parameters: laplace, %d draws of the normal distribution around the mode\n", p.Draws)
	}
	names := p.Names
	if names == nil { // of a record
		names = slices.Sorted(maps.Keys(p.Parameters))
	}
	w.fit(20, names...).table(posteriorColumns, posteriorColumns, names)
	for _, name := range slices.Sorted(maps.Keys(p.DefaultPriors)) {
		fmt.Fprintf(w, "default prior of %s: %s\n", name, p.DefaultPriors[name])
	}
}
