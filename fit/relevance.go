package fit

import (
	"cmp"
	"context"
	"slices"

	"gpfit/fit/problem"
	"gpfit/fit/summary"
	"gpfit/gp"
	"gpfit/internal/tuning"
	"gpfit/kernel"
)

// relevance returns the columns in use, most relevant first; nil if their relevance is
// not a finite number.
func relevance(ctx context.Context, j *tuning.Job, threads int, p *gp.Posterior, values []float64) ([]summary.ColumnRelevance, error) {
	var scores []float64
	var err error
	if j.Experts == nil {
		scores, err = gp.Relevance(ctx, p.Whole(), threads)
	} else {
		scores, err = p.Relevance(ctx)
	}
	if err != nil || slices.ContainsFunc(scores, problem.NotFinite) {
		return nil, err
	}
	s := j.Sample
	out := make([]summary.ColumnRelevance, len(scores))
	for c, score := range scores {
		feature := s.Columns[c]
		out[c] = summary.ColumnRelevance{Column: s.Data.FeatureNames[feature], Index: feature, Relevance: score}
	}
	for _, p := range j.Program().Params {
		if p.Kind != kernel.Lengthscale || p.Units.Input != 1 {
			continue
		}
		for i, c := range p.Dims {
			v := values[p.Offset]
			if p.Vector {
				v = values[p.Offset+i]
			}
			out[c].Lengthscales = append(out[c].Lengthscales, v*s.Scalings[0].XScale[c])
		}
	}
	slices.SortStableFunc(out, func(a, b summary.ColumnRelevance) int { return cmp.Compare(b.Relevance, a.Relevance) })
	return out, nil
}
