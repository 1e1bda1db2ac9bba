package fit

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"gpfit/gp"
	"gpfit/internal/textform"
	"gpfit/kernel"
)

// ColumnRelevance says how much the predictions depend on a column of the table.
type ColumnRelevance struct {
	// Column is the name of the column; Index counts the features from 0.
	Column string `json:"column"`
	Index  int    `json:"index"`
	// Relevance is the standard deviation of the part of the predictions that the
	// column takes part in, in units of the targets' standard deviation; see
	// [gp.Model.Relevance].
	Relevance float64 `json:"relevance"`
	// Lengthscales are those of the kernel for this column, in units of the column and
	// in the order of the kernel's leaves. Leaves without a lengthscale add none.
	Lengthscales []float64 `json:"lengthscales,omitempty"`
}

// Name returns the column as results write it.
func (c ColumnRelevance) Name() string {
	if c.Column == "" {
		return fmt.Sprintf("column %d", c.Index)
	}
	return textform.Printable(c.Column, mostName)
}

// mostName is the number of characters of a name that a table shows.
const mostName = 60

// relevance returns the columns in use, most relevant first; nil if their relevance is
// not a finite number.
func (j *Job) relevance(ctx context.Context, threads int, p *gp.Posterior, values []float64) ([]ColumnRelevance, error) {
	var scores []float64
	var err error
	if j.experts == nil {
		scores, err = p.Whole().Relevance(ctx, threads)
	} else {
		scores, err = p.Relevance(ctx)
	}
	if err != nil || slices.ContainsFunc(scores, notFinite) {
		return nil, err
	}
	s := j.sample
	out := make([]ColumnRelevance, len(scores))
	for c, score := range scores {
		feature := s.columns[c]
		out[c] = ColumnRelevance{Column: s.data.FeatureNames[feature], Index: feature, Relevance: score}
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
			out[c].Lengthscales = append(out[c].Lengthscales, v*s.scalings[0].XScale[c])
		}
	}
	slices.SortStableFunc(out, func(a, b ColumnRelevance) int { return cmp.Compare(b.Relevance, a.Relevance) })
	return out, nil
}
