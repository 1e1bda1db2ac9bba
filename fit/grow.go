package fit

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"gpfit/graph"
	"gpfit/kernel"
)

// grow continues from the best kernel as long as one step improves the score.
func (r *selection) grow(leaves []candidateExpr) error {
	bases := make([]*kernel.Leaf, len(leaves))
	for i, l := range leaves {
		bases[i] = l.expr.(*kernel.Leaf)
	}
	for number := 1; r.stopped == ""; number++ {
		if r.best < 0 {
			return nil
		}
		from := r.best
		values := newLeafValues(r.expressions[from].expr, r.outcome.Report.Parameters)
		var next []candidateExpr
		for _, e := range neighbours(r.expressions[from].expr, bases, r.settings.MaxTerms) {
			if text := e.String(); !r.tried[text] {
				r.tried[text] = true
				next = append(next, candidateExpr{expr: e, values: values})
			}
		}
		if len(next) == 0 {
			r.stopped = "every kernel one step from the best, within the limit on leaves, has been tried"
			return nil
		}
		if err := r.round(number, next); err != nil {
			return err
		}
		if r.best == from && r.stopped == "" {
			r.stopped = "no kernel one step from the best improves the score"
		}
	}
	return nil
}

// screenScales multiply the default starts of new leaves' lengthscales and periods.
// The previous kernel usually explains the long-range structure, and a single long
// start often misses the rest.
var screenScales = []float64{1, 1. / 4, 1. / 16}

// screen returns the job of c that starts at the best of the scales for its new
// leaves. It evaluates the job once at each scale.
func (r *selection) screen(c candidateExpr, job *Job) (*Job, error) {
	best := math.Inf(1)
	var at map[string]float64
	chosen := job
	for _, scale := range screenScales {
		trial := job
		if at != nil {
			var more []Assignment
			for _, name := range c.values.newScales(c.expr, at) {
				more = append(more, Assignment{Name: name, Value: at[name] * scale, Given: true})
			}
			if more == nil {
				break
			}
			var err error
			if trial, err = r.prepare(c, more...); err != nil {
				return nil, err
			}
		}
		report, err := trial.Evaluate(r.ctx, r.backends[0], nil)
		switch {
		case err != nil && (ends(err) || at == nil):
			// The fit reports a start that cannot be evaluated.
			if ends(err) {
				return nil, err
			}
			return job, nil
		case err != nil:
			continue
		case at == nil:
			at = report.Parameters
		}
		if report.Objective < best {
			best, chosen = report.Objective, trial
		}
	}
	return chosen, nil
}

// newScales returns the names of the lengthscales and periods of the leaves that have
// no fitted values yet.
func (v leafValues) newScales(e kernel.Expr, parameters map[string]float64) []string {
	var out []string
	walk(e, "", func(l *kernel.Leaf, prefix string) {
		if _, known := v.leaves[l]; known {
			return
		}
		for name := range parameters {
			rest, ok := strings.CutPrefix(name, prefix)
			if ok && (strings.HasPrefix(rest, "lengthscale") || strings.HasPrefix(rest, "period")) {
				out = append(out, name)
			}
		}
	})
	slices.Sort(out)
	return out
}

// neighbours returns the kernels that one step makes of e, in canonical form and
// without those that are the same function family as a simpler one. A step replaces
// one part S of the expression, for a base kernel B (Duvenaud et al. 2013, Searching
// over structures),
//
//	S by S + B,  S by S×B,  a leaf by B.
func neighbours(e kernel.Expr, bases []*kernel.Leaf, maxLeaves int) []kernel.Expr {
	var out []kernel.Expr
	seen := map[string]bool{e.String(): true}
	replaceEach(e, func(s kernel.Expr) []kernel.Expr {
		var steps []kernel.Expr
		for _, b := range bases {
			steps = append(steps, kernel.Sum{s, clone(b)}, kernel.Product{s, clone(b)})
			if _, leaf := s.(*kernel.Leaf); leaf && s.String() != b.String() {
				steps = append(steps, clone(b))
			}
		}
		return steps
	}, func(changed kernel.Expr) {
		c := canonical(changed)
		if text := c.String(); !seen[text] && countLeaves(c) <= maxLeaves && !redundant(c) {
			seen[text] = true
			out = append(out, c)
		}
	})
	return out
}

// clone copies a leaf, because leafValues are stored by leaf.
func clone(l *kernel.Leaf) *kernel.Leaf {
	c := *l
	return &c
}

// replaceEach calls yield with e after each replacement of one part of it.
func replaceEach(e kernel.Expr, steps func(kernel.Expr) []kernel.Expr, yield func(kernel.Expr)) {
	for _, s := range steps(e) {
		yield(s)
	}
	parts, join := children(e)
	for i, part := range parts {
		replaceEach(part, steps, func(changed kernel.Expr) {
			copied := slices.Clone(parts)
			copied[i] = changed
			yield(join(copied))
		})
	}
}

// children returns the parts of a sum or product, and a function that joins parts.
func children(e kernel.Expr) ([]kernel.Expr, func([]kernel.Expr) kernel.Expr) {
	switch e := e.(type) {
	case kernel.Sum:
		return e, func(p []kernel.Expr) kernel.Expr { return kernel.Sum(p) }
	case kernel.Product:
		return e, func(p []kernel.Expr) kernel.Expr { return kernel.Product(p) }
	}
	return nil, nil
}

// canonical flattens sums in sums and products in products and sorts the parts
// by their text, so that equal kernels have equal texts.
func canonical(e kernel.Expr) kernel.Expr {
	parts, join := children(e)
	if parts == nil {
		return e
	}
	var flat []kernel.Expr
	for _, p := range parts {
		p = canonical(p)
		_, sum := e.(kernel.Sum)
		inner, ok := p.(kernel.Sum)
		if product, isProduct := p.(kernel.Product); isProduct && !sum {
			flat = append(flat, product...)
		} else if ok && sum {
			flat = append(flat, inner...)
		} else {
			flat = append(flat, p)
		}
	}
	slices.SortStableFunc(flat, func(a, b kernel.Expr) int { return strings.Compare(a.String(), b.String()) })
	return join(flat)
}

func countLeaves(e kernel.Expr) int {
	parts, _ := children(e)
	if parts == nil {
		return 1
	}
	n := 0
	for _, p := range parts {
		n += countLeaves(p)
	}
	return n
}

// redundant reports whether e has factors that add nothing: a second rbf on the same
// columns (the product of two is one with another lengthscale), or a constant, whose
// role the signal variance already has; or a second constant in a sum.
func redundant(e kernel.Expr) bool {
	parts, _ := children(e)
	_, product := e.(kernel.Product)
	seen := map[string]bool{}
	for _, p := range parts {
		if redundant(p) {
			return true
		}
		leaf, ok := p.(*kernel.Leaf)
		if !ok {
			continue
		}
		once := leaf.Family.Name == "constant" || leaf.Family.Name == "rbf" && product
		if product && leaf.Family.Name == "constant" || once && seen[leaf.String()] {
			return true
		}
		seen[leaf.String()] = true
	}
	return false
}

// leafValues holds fitted parameters by the leaf that they belong to, as start values
// for other kernels with the same leaves. The signal variance of a product belongs to
// no leaf and takes its default start value.
type leafValues struct {
	leaves map[*kernel.Leaf]map[string]float64
	noise  []Assignment
}

func newLeafValues(e kernel.Expr, parameters map[string]float64) leafValues {
	v := leafValues{leaves: map[*kernel.Leaf]map[string]float64{}}
	walk(e, "", func(l *kernel.Leaf, prefix string) {
		v.leaves[l] = map[string]float64{}
		for name, value := range parameters {
			rest, ok := strings.CutPrefix(name, prefix)
			if ok && !inLeaf(rest) && isKernels(rest) {
				v.leaves[l][rest] = value
			}
		}
	})
	for name, value := range parameters {
		if strings.HasPrefix(name, graph.NoiseVariance) {
			v.noise = append(v.noise, Assignment{Name: name, Value: value, Given: true})
		}
	}
	return v
}

// inLeaf reports whether a parameter's name begins with the path of a leaf. The name of
// a column, in brackets, may have a dot.
func inLeaf(name string) bool {
	path, _, _ := strings.Cut(name, "[")
	return strings.Contains(path, ".")
}

// isKernels reports whether a parameter belongs to the kernel, not to noise or mean.
func isKernels(name string) bool {
	return !strings.HasPrefix(name, graph.NoiseVariance) && !strings.HasPrefix(name, "mean_")
}

// walk visits the leaves with the prefix of their parameters' names.
func walk(e kernel.Expr, prefix string, visit func(l *kernel.Leaf, prefix string)) {
	if l, ok := e.(*kernel.Leaf); ok {
		visit(l, prefix)
		return
	}
	parts, _ := children(e)
	for i, p := range parts {
		walk(p, prefix+"k"+strconv.Itoa(i+1)+".", visit)
	}
}

// assignments assigns the values of e's leaves to its parameters among names.
func (v leafValues) assignments(e kernel.Expr, names []string) []Assignment {
	var out []Assignment
	for _, a := range v.noise {
		if slices.Contains(names, a.Name) {
			out = append(out, a)
		}
	}
	walk(e, "", func(l *kernel.Leaf, prefix string) {
		for rest, value := range v.leaves[l] {
			if name := prefix + rest; slices.Contains(names, name) {
				out = append(out, Assignment{Name: name, Value: value, Given: true})
			}
		}
	})
	slices.SortFunc(out, func(a, b Assignment) int { return strings.Compare(a.Name, b.Name) })
	return out
}
