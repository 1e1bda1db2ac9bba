package summary

import (
	"encoding/json"
	"errors"
	"io"
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
