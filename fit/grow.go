package fit

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"strings"
	"time"

	"gpfit/device"
	"gpfit/fit/problem"
	"gpfit/internal/each"
	"gpfit/internal/transform"
	"gpfit/kernel"
)

// Select fits the kernels one after the other, with the other options of opts, and compares
// them. If ctx is cancelled, it returns the comparison so far and an error that wraps ctx's; the
// result is nil only if no kernel was done. A kernel that cannot be fitted, or not in the free memory, is a candidate with an
// error. Errors: [Prepare]'s for any kernel, before any fit; [*device.LostError]; and an error if no kernel could be
// fitted, which wraps the errors of all.
func Select(ctx context.Context, data problem.Data, opts problem.Options, events problem.Events, s SelectOptions, backends ...device.Backend) (*Selection, error) {
	began := time.Now()
	s, err := s.withDefaults()
	if err != nil {
		return nil, err
	}
	if data.TargetNames != nil {
		return nil, problem.OptionErrorf("target", "", "gpfit compares kernels on one target; select a kernel for each target separately")
	}
	if opts.TargetTransform == transform.Auto {
		return nil, problem.OptionErrorf("target-transform", string(transform.Auto), "kernels are compared for one transform: give it")
	}
	r := &selection{ctx: ctx, data: data, opts: opts, events: events, settings: s, backends: backends, tried: map[string]bool{}, best: -1}
	r.opts.LeaveOneOut = true
	if s.automatic() {
		err = r.choose()
	} else if start, failed := r.parse(); failed != nil {
		return nil, failed
	} else if err = r.round(0, start); err == nil && s.Greedy {
		err = r.grow(start)
	}
	if r.best < 0 {
		return nil, errors.Join(err, r.noneFitted())
	}
	result := r.result()
	result.Seconds = time.Since(began).Seconds()
	return result, err
}

// grow continues from the best kernel as long as one step improves the score.
func (r *selection) grow(leaves []candidateExpr) error {
	bases := each.Of(leaves, func(l candidateExpr) *kernel.Leaf { return l.expr.(*kernel.Leaf) })
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

// neighbours returns the kernels that one step makes of e, in canonical form, without
// kernels that have a simpler form. A step replaces one part S of the expression, for a
// base kernel B (Duvenaud et al. 2013, Searching over structures),
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
		if inner, _ := children(p); inner != nil && reflect.TypeOf(p) == reflect.TypeOf(e) {
			flat = append(flat, inner...)
		} else {
			flat = append(flat, p)
		}
	}
	slices.SortStableFunc(flat, func(a, b kernel.Expr) int { return strings.Compare(a.String(), b.String()) })
	return join(flat)
}

func countLeaves(e kernel.Expr) (n int) {
	walk(e, "", func(*kernel.Leaf, string) { n++ })
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
