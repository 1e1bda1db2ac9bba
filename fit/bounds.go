package fit

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"gpfit/fit/problem"
	"gpfit/fit/summary"
	"gpfit/gp"
	"gpfit/graph"
	"gpfit/hyperopt/descent"
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

// irrelevant is the relevance of a column, in units of the targets' standard deviation, below which
// the predictions do not depend on it for any purpose. The numbers in reports have two decimals.
const irrelevant = 0.005

// boundText collects what there is to say about parameters at bounds, so that parameters
// of the same kind share a sentence.
type boundText struct {
	columns, parts, terms, lower, upper []string
}

// boundWarnings explains the parameters at a bound that the objective pushes outwards. It
// leaves out noise variances at their lower bound if noise is false.
func boundWarnings(j *problem.Prepared, at []descent.Bound, relevance []summary.ColumnRelevance, noise bool) []string {
	var t boundText
	idle := idleColumns(j, at, relevance)
	for _, c := range idle {
		t.columns = append(t.columns, fmt.Sprintf("%q", j.Sample.Data.FeatureNames[j.Sample.Columns[c]]))
	}
	for _, b := range at {
		p := j.Params.Free[b.Index]
		kind, dims := scaleOf(j, b.Index)
		isScale := b.Side == descent.Upper && (kind == kernel.Lengthscale || kind == kernel.InnerScale)
		switch {
		case isScale && len(dims) == 1 && slices.Contains(idle, dims[0]):
		case isScale && len(dims) == 1 && !p.Bounded:
			t.parts = append(t.parts, p.Name)
		case b.Side == descent.Lower && kind == kernel.Variance && len(signalVariances(j)) > 1:
			t.terms = append(t.terms, p.Name)
		case b.Side == descent.Upper:
			t.upper = append(t.upper, fmt.Sprintf("%s is at its upper bound %.6g", p.Name, p.Upper))
		case p.Group != graph.NoiseVariance || noise:
			t.lower = append(t.lower, fmt.Sprintf("%s is at its lower bound %.6g", p.Name, p.Lower))
		}
	}
	return t.sentences()
}

// sentences returns one sentence for each kind.
func (t *boundText) sentences() []string {
	var out []string
	switch len(t.columns) {
	case 0:
	case 1:
		out = append(out, fmt.Sprintf("column %s does not matter: its lengthscale is at its upper bound, and predictions do not depend on it", t.columns[0]))
	default:
		out = append(out, fmt.Sprintf("columns %s do not matter: their lengthscales are at their upper bounds, and predictions do not depend on them", problem.Listed(t.columns)))
	}
	if len(t.parts) == 1 {
		out = append(out, t.parts[0]+" is at its upper bound: this part of the kernel hardly varies with the column")
	} else if len(t.parts) > 1 {
		out = append(out, problem.Listed(t.parts)+" are at their upper bounds: these parts of the kernel hardly vary with their columns")
	}
	if len(t.terms) == 1 {
		out = append(out, t.terms[0]+" is at its lower bound: the data do not need this term of the kernel; a fit without it is simpler")
	} else if len(t.terms) > 1 {
		out = append(out, problem.Listed(t.terms)+" are at their lower bounds: the data do not need these terms of the kernel; a fit without them is simpler")
	}
	if len(t.upper) > 0 {
		out = append(out, strings.Join(t.upper, ", ")+": a larger value would fit the data better; option bounds sets other bounds")
	}
	if len(t.lower) > 0 {
		out = append(out, strings.Join(t.lower, ", ")+": a smaller value would fit the data better; option bounds sets other bounds")
	}
	return out
}

// scaleOf returns the kind of the kernel's parameter that takes the value of a free one,
// and the columns in use that it scales. A parameter that serves others, too, by ties, has
// the columns of all. The kind is 0 for a parameter outside the kernel.
func scaleOf(j *problem.Prepared, free int) (kind kernel.Kind, dims []int) {
	for _, p := range j.Program().Params {
		for i := range p.Size {
			if j.Params.All[p.Offset+i].Index != free {
				continue
			}
			kind = p.Kind
			if p.Vector {
				dims = append(dims, p.Dims[i])
			} else {
				dims = append(dims, p.Dims...)
			}
		}
	}
	slices.Sort(dims)
	return kind, slices.Compact(dims)
}

// signalVariances lists the kernel's parameters of kind Variance.
func signalVariances(j *problem.Prepared) []int {
	var out []int
	for _, p := range j.Program().Params {
		if p.Kind == kernel.Variance {
			out = append(out, p.Offset)
		}
	}
	return out
}

// idleColumns returns the columns in use, in order, on which predictions do not depend:
// all their lengthscales are at the upper bound, and their relevance is negligible.
func idleColumns(j *problem.Prepared, at []descent.Bound, relevance []summary.ColumnRelevance) []int {
	upper := map[int]bool{}
	for _, b := range at {
		upper[b.Index] = b.Side == descent.Upper
	}
	var out []int
	for c, feature := range j.Sample.Columns {
		known := slices.IndexFunc(relevance, func(r summary.ColumnRelevance) bool { return r.Index == feature })
		if known >= 0 && relevance[known].Relevance < irrelevant && scalesBeyond(j, c, upper) {
			out = append(out, c)
		}
	}
	return out
}

// scalesBeyond reports whether a column has lengthscales, each of its own, and all of them
// are among the given free parameters.
func scalesBeyond(j *problem.Prepared, column int, given map[int]bool) bool {
	found := false
	for _, p := range j.Program().Params {
		i := slices.Index(p.Dims, column)
		if i < 0 || p.Kind != kernel.Lengthscale && p.Kind != kernel.InnerScale {
			continue
		}
		if !p.Vector {
			if len(p.Dims) > 1 {
				return false
			}
			i = 0
		}
		if !given[j.Params.All[p.Offset+i].Index] {
			return false
		}
		found = true
	}
	return found
}
