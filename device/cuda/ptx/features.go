package ptx

import (
	"slices"

	"gpfit/kernel"
)

// termCost is the approximate number of operations for a column's part of a feature.
var termCost = map[kernel.FeatureKind]int{
	kernel.SquaredDistance: 3, kernel.InnerProduct: 2, kernel.SinSquares: 16, kernel.Differences: 2, kernel.Mismatches: 3,
	kernel.First: 1, kernel.Second: 1, kernel.FirstNorm: 2, kernel.SecondNorm: 2, kernel.SinePhases: 10,
}

// measure computes the features of the pairs of a pass, in one sweep for features of
// the same columns. Distances are sums over differences of coordinates, as on the CPU.
func (b *body) measure() {
	for i := range b.k.sweeps {
		s, cost := &b.k.sweeps[i], 0
		for _, f := range s.features {
			b.features[f] = b.zeros()
			b.live.born(f)
			cost += termCost[b.k.features[f].Kind]
		}
		b.eachColumn(s, cost, func(c column) {
			t := terms{body: b, column: c}
			t.x, t.y = b.coordinates(c)
			for _, f := range s.features {
				t.add(b.features[f], s, f)
			}
		})
		for _, f := range s.features {
			if b.k.features[f].Kind == kernel.SinePhases { // the sums use sin πu·cos πu so far
				b.features[f] = b.mul(b.features[f], 2.0)
			}
		}
	}
}

// zeros returns registers with 0, for sums.
func (b *values) zeros() vec {
	out := make(vec, b.pairs())
	for p := range out {
		out[p] = b.do("mov.f64", number(0))
	}
	return out
}

// terms computes the terms that a column adds to features, and computes shared parts once.
type terms struct {
	*body
	column
	x, y, difference, square vec
	// u is Δ/p for the last requested frequency; sin and cos are sin πu and cos πu.
	u, sin, cos vec
}

func (t *terms) delta() vec {
	if t.difference == nil {
		t.difference = t.sub(t.x, t.y)
	}
	return t.difference
}

func (t *terms) squared() vec {
	if t.square == nil {
		t.square = t.mul(t.delta(), t.delta())
	}
	return t.square
}

// waves sets u, sin and cos for the frequency in the given field.
func (t *terms) waves(field int, cosine bool) {
	t.u = t.mul(t.delta(), t.field(t.column, field))
	t.sin, t.cos = t.turn(t.u, cosine)
}

// add adds the column's part of feature f to sum.
func (t *terms) add(sum vec, s *sweep, f int) {
	feature := &t.k.features[f]
	var weight any
	field := s.field[f]
	if feature.Param >= 0 {
		weight = t.field(t.column, field)
		field++
	}
	switch feature.Kind {
	case kernel.SquaredDistance:
		if weight == nil {
			t.addProduct(sum, t.delta(), t.delta(), nil)
		} else { // other terms may share the square
			t.addTerm(sum, t.squared(), weight)
		}
	case kernel.InnerProduct, kernel.FirstNorm, kernel.SecondNorm:
		a, b := t.factors(feature.Kind)
		t.addProduct(sum, a, b, weight)
	case kernel.SinSquares:
		phases := t.k.phases(s, f)
		t.waves(field, phases >= 0)
		t.addProduct(sum, t.sin, t.sin, weight)
		if phases >= 0 {
			t.into(t.features[phases], "fma.rn.f64", t.u, t.mul(t.sin, t.cos), t.features[phases])
		}
	case kernel.SinePhases:
		if !slices.ContainsFunc(s.features, func(g int) bool { return t.k.phases(s, g) == f }) {
			t.waves(field, true)
			t.into(sum, "fma.rn.f64", t.u, t.mul(t.sin, t.cos), sum)
		}
	case kernel.Differences:
		t.addTerm(sum, t.delta(), weight)
	case kernel.Mismatches:
		if weight == nil {
			weight = 1.0
		}
		t.into(sum, "add.rn.f64", sum, t.mismatch(weight))
	case kernel.First:
		t.addTerm(sum, t.x, weight)
	case kernel.Second:
		t.addTerm(sum, t.y, weight)
	}
}

// phases returns the SinePhases that belongs to a SinSquares, -1 for none.
func (k *Kernel) phases(s *sweep, f int) int {
	for _, g := range s.features {
		if k.features[f].OnePeriod() && k.features[g].Kind == kernel.SinePhases && k.features[g].Period == k.features[f].Period {
			return g
		}
	}
	return -1
}

// mismatch returns v if the coordinates differ, and 0 otherwise.
func (t *terms) mismatch(v any) vec { return t.choose(v, 0.0, t.is("neu", t.x, t.y)) }

// factors returns the factors of a term that is a product of coordinates or differences.
func (t *terms) factors(kind kernel.FeatureKind) (a, b vec) {
	switch kind {
	case kernel.SquaredDistance:
		return t.delta(), t.delta()
	case kernel.InnerProduct:
		return t.x, t.y
	case kernel.FirstNorm:
		return t.x, t.x
	case kernel.SecondNorm:
		return t.y, t.y
	}
	return nil, nil
}

func (t *terms) addProduct(sum, a, b vec, weight any) {
	if weight != nil {
		b = t.mul(b, weight)
	}
	t.into(sum, "fma.rn.f64", a, b, sum)
}

func (t *terms) addTerm(sum, a vec, weight any) {
	if weight == nil {
		t.into(sum, "add.rn.f64", sum, a)
		return
	}
	t.into(sum, "fma.rn.f64", a, weight, sum)
}

// weighted returns of(a, b) for w·term = a·b, the column's term of feature f without its weight, and
// for SinSquares also for w·u·sin 2πu. b is nil for the number 1.
func (t *terms) weighted(w vec, s *sweep, f int, of func(a, b vec) vec) []vec {
	feature := &t.k.features[f]
	if a, b := t.factors(feature.Kind); a != nil {
		return []vec{of(t.mul(a, w), b)}
	}
	switch feature.Kind {
	case kernel.Differences:
		return []vec{of(t.delta(), w)}
	case kernel.Mismatches:
		return []vec{of(t.mismatch(w), nil)}
	}
	t.waves(s.field[f]+fields(feature)-1, true)
	sw := t.mul(t.sin, w)
	phases := of(t.mul(sw, t.cos), t.u)
	return []vec{of(sw, t.sin), t.body.add(phases, phases)}
}

// sum returns Σ_pairs a·b, or Σ_pairs a if b is nil.
func (b *values) sum(a, c vec) vec {
	if c == nil {
		return vec{b.total(a)}
	}
	return vec{b.dot(a, c)}
}

// product returns a·b of each pair, or a if b is nil.
func (b *values) product(a, c vec) vec {
	if c == nil {
		return a
	}
	return b.mul(a, c)
}

// dot returns Σ_pairs a·b, total Σ_pairs a.
func (b *values) dot(a, c vec) string {
	sum := b.do("mul.rn.f64", a[0], c[0])
	for p := 1; p < len(a); p++ {
		sum = b.do("fma.rn.f64", a[p], c[p], sum)
	}
	return sum
}

func (b *values) total(a vec) string {
	sum := a[0]
	for _, v := range a[1:] {
		sum = b.do("add.rn.f64", sum, v)
	}
	return sum
}
