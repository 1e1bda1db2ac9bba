package kernel

import (
	"slices"
	"strings"
)

// The parameters of a program are positive, because a fit varies their logarithms. An offset
// may also be the constant 0: `poly(2, offset=0)` is (Σ x x′)². It is then a number of the
// expression and no parameter, so that no derivative and no device knows of it.

// takesZero reports whether leaves of the family may have the constant 0 for a parameter.
func (f *Family) takesZero(name string) bool {
	return slices.ContainsFunc(f.Parameters, func(q Parameter) bool { return q.Name == name && q.Kind == Offset && q.Count == One })
}

// isZero reports whether a parameter of the leaf is the constant 0.
func (l *Leaf) isZero(name string) bool {
	v := l.Start[name]
	return len(v) == 1 && v[0] == 0 && l.Family.takesZero(name)
}

// WithZero returns a copy of e in which the offset of that name, such as "offset" or
// "k1.offset", is the constant 0. ok is false if e has no such offset.
func WithZero(e Expr, name string) (out Expr, ok bool) { return withZero(e, "", name) }

func withZero(e Expr, prefix, name string) (Expr, bool) {
	parts := func(es []Expr) ([]Expr, bool) {
		for i, part := range es {
			if changed, ok := withZero(part, childPrefix(prefix, i), name); ok {
				out := append([]Expr(nil), es...)
				out[i] = changed
				return out, true
			}
		}
		return nil, false
	}
	switch e := e.(type) {
	case *Leaf:
		own, found := strings.CutPrefix(name, prefix)
		if !found || !e.Family.takesZero(own) {
			return e, false
		}
		c := *e
		c.Start = map[string][]float64{own: {0}}
		for other, v := range e.Start {
			if other != own {
				c.Start[other] = v
			}
		}
		return &c, true
	case Sum:
		if out, ok := parts(e); ok {
			return Sum(out), true
		}
	case Product:
		if out, ok := parts(e); ok {
			return Product(out), true
		}
	}
	return e, false
}
