package kernel

import (
	"slices"

	"gpfit/kernel/oplist"
)

// selection chooses the steps for the values of a list.
type selection struct {
	list     *oplist.List
	need     []bool
	features []Feature
	// uses counts the values that need a value as a row; where[v] is the row of v.
	uses  []int
	where map[oplist.ID]int
	// powers maps a value and an exponent to the row of that power.
	powers map[[2]int]int
	sums   int
	// parts are the parts of the pair that the values depend on.
	parts []dependence
	assembly
}

// assembly is a routine under construction.
type assembly struct {
	out routine
	// of is the part of the pair for the steps being chosen.
	of dependence
	// narrow are the rows that have only their first element yet.
	narrow map[int]bool
}

func newSelection(list *oplist.List, need []bool, features []Feature) *selection {
	s := &selection{list: list, need: need, features: features, uses: make([]int, len(list.Values)), where: map[oplist.ID]int{}, powers: map[[2]int]int{}, parts: dependences(list, features)}
	s.narrow, s.out = map[int]bool{}, routine{list: list, need: need, count: len(features), features: features, read: make([]bool, len(features))}
	for id := range list.Values {
		if need[id] && !list.Values[id].Uniform {
			for _, a := range list.Values[id].Args {
				s.uses[a]++
			}
		}
	}
	return s
}

func (s *assembly) routine(m *measures) routine {
	s.out.measures = m
	return s.out
}

func (s *assembly) newRow() int {
	r := s.out.count
	s.out.count++
	switch s.of {
	case ofFirst:
		s.narrow[r] = true
	case ofSecond:
		s.out.seconds.rows = append(s.out.seconds.rows, r)
	}
	return r
}

func (s *assembly) emit(t step) int {
	t.single = s.of == ofFirst
	if s.of == ofSecond {
		s.out.seconds.steps = append(s.out.seconds.steps, t)
	} else {
		s.out.steps = append(s.out.steps, t)
	}
	return t.dst
}

// within chooses steps for a value that depends on this part of the pair, and returns the row, with
// all elements if the steps around it need them.
func (s *assembly) within(of dependence, choose func() int) int {
	outer := s.of
	s.of = of
	r := choose()
	s.of = outer
	return s.whole(r)
}

// whole returns a row with all elements, unless the steps being chosen need only the first.
func (s *assembly) whole(r int) int {
	if s.narrow[r] && s.of != ofFirst {
		delete(s.narrow, r)
		s.emit(step{do: doSpread, dst: r})
	}
	return r
}

// result writes a value to the given row.
func (s *selection) result(v oplist.ID) {
	coef, core := s.list.Factor(v)
	if core == oplist.None {
		s.emit(step{do: doFill, dst: given, p: coef})
		return
	}
	if value := s.list.At(core); s.uses[core] <= 1 && s.amplified(value, coef) {
		return
	}
	if s.list.At(core).Op == oplist.Sum && isOne(s.list, coef) {
		s.linear(given, s.list.At(core))
		return
	}
	s.emit(step{do: doScale, dst: given, a: s.row(core), p: coef})
}

func isOne(l *oplist.List, v oplist.ID) bool {
	return v == oplist.None || l.At(v).Op == oplist.Number && l.At(v).Number == 1
}

// withAmplitude are the operations that multiply their result by a factor, too.
var withAmplitude = map[oplist.Op]operation{oplist.Exp: doExp, oplist.Cosine: doCosine, oplist.Sine: doSine, oplist.Decay: doDecay}

// amplified writes coef·value to the given row in one step, if one step can do so.
func (s *selection) amplified(v *oplist.Value, coef oplist.ID) bool {
	if withAmplitude[v.Op] == nil || v.Op == oplist.Decay && !short(v) {
		return false
	}
	s.function(withAmplitude[v.Op], given, v, coef)
	return true
}

// fresh stands for a row that is not in use.
const fresh = -2

// function writes a function of one value to row dst.
func (s *selection) function(do operation, dst int, v *oplist.Value, q oplist.ID) int {
	t := step{do: do, dst: dst, q: q, value: v}
	if p, feature, ok := s.ofDistance(v); ok {
		t.do, t.p, t.a = doExpOfDistance, p, feature
	} else {
		t.p, t.a = s.argument(v)
	}
	if v.Op == oplist.Decay {
		copy(t.with[:], v.Poly[1:])
	}
	if dst == fresh {
		t.dst = s.newRow()
	}
	return s.emit(t)
}

// argument returns the argument of a function as a factor and a row.
func (s *selection) argument(v *oplist.Value) (factor oplist.ID, row int) {
	coef, core := s.list.Factor(v.Args[0])
	return coef, s.row(core)
}

// ofDistance returns the argument of an exponential as a factor and the number of a
// feature, if the feature is a squared distance that nothing else uses.
func (s *selection) ofDistance(v *oplist.Value) (factor oplist.ID, feature int, ok bool) {
	if v.Op != oplist.Exp {
		return 0, 0, false
	}
	coef, core := s.list.Factor(v.Args[0])
	if core == oplist.None || s.list.At(core).Op != oplist.Feature || s.uses[core] > 1 {
		return 0, 0, false
	}
	feature = s.list.At(core).Index
	return coef, feature, s.features[feature].Kind == SquaredDistance
}

// short reports whether a Decay has no t^−1 term and a degree of at most 2.
func short(v *oplist.Value) bool { return v.Poly[0] == 0 && len(v.Poly) <= 4 }

// row returns the row of a value. It computes the value if it is not in a row.
func (s *selection) row(v oplist.ID) int {
	if r, ok := s.where[v]; ok {
		return s.whole(r)
	}
	return s.within(s.parts[v], func() int { return s.newValue(v) })
}

// newValue computes a value that is not in a row.
func (s *selection) newValue(v oplist.ID) int {
	value := s.list.At(v)
	r := 0
	switch value.Op {
	case oplist.Feature:
		r = s.feature(value.Index)
	case oplist.Sum:
		r = s.linear(s.newRow(), value)
	case oplist.Product:
		r = s.product(value)
	case oplist.Exp:
		r = s.function(doExp, fresh, value, oplist.None)
	case oplist.Sine, oplist.Cosine:
		r = s.wave(v, value)
	case oplist.Decay:
		r = s.decay(v, value)
	case oplist.Power:
		r = s.raised(value)
	case oplist.Positive:
		p, a, q := s.affine(value.Args[0])
		r = s.emit(step{do: functions[oplist.Positive], dst: s.newRow(), a: a, p: p, q: q})
	default:
		r = s.function(functions[value.Op], fresh, value, oplist.None)
	}
	s.where[v] = r
	return r
}

// feature returns the row of a feature.
func (s *assembly) feature(k int) int {
	if s.out.read[k] {
		return k
	}
	s.out.read[k] = true
	switch s.of {
	case ofFirst:
		s.narrow[k] = true
	case ofSecond:
		s.out.seconds.features, s.out.seconds.rows = append(s.out.seconds.features, k), append(s.out.seconds.rows, k)
	}
	return k
}

// raised computes a Power, from the logarithm of its base if that is needed, too.
func (s *selection) raised(v *oplist.Value) int {
	for id := range s.list.Values {
		if o := &s.list.Values[id]; s.need[id] && o.Op == oplist.LogOrZero && o.Args[0] == v.Args[0] {
			_, base := s.argument(v)
			log := s.row(oplist.ID(id))
			return s.emit(step{do: doPowerOfLog, dst: s.newRow(), a: log, b: base, q: v.Coef[0], value: v})
		}
	}
	return s.function(functions[oplist.Power], fresh, v, v.Coef[0])
}

// affine returns a value as p·a + q, computing the row a.
func (s *selection) affine(v oplist.ID) (p oplist.ID, a int, q oplist.ID) {
	if value := s.list.At(v); value.Op == oplist.Sum && len(value.Args) == 1 {
		return value.Coef[0], s.row(value.Args[0]), value.Offset
	}
	return oplist.None, s.row(v), oplist.None
}

// linear computes a Sum.
func (s *selection) linear(dst int, v *oplist.Value) int {
	if len(v.Args) == 1 {
		return s.emit(step{do: doAffine, dst: dst, a: s.row(v.Args[0]), p: v.Coef[0], q: v.Offset})
	}
	rows, by := make([]int, len(v.Args)), make([]int, len(v.Args))
	for i, a := range v.Args {
		rows[i], by[i] = s.term(a)
	}
	s.emit(step{do: doCombine, dst: dst, a: rows[0], b: rows[1], p: v.Coef[0], q: v.Coef[1], by: by[0], also: by[1]})
	for i := 2; i < len(rows); i++ {
		s.emit(step{do: doCombine, dst: dst, a: dst, b: rows[i], p: oplist.None, q: v.Coef[i], by: none, also: by[i]})
	}
	if v.Offset != oplist.None {
		s.emit(step{do: doAffine, dst: dst, a: dst, p: oplist.None, q: v.Offset})
	}
	return dst
}

// wave computes a sine or cosine, together with its partner if that is needed.
func (s *selection) wave(v oplist.ID, value *oplist.Value) int {
	p, a := s.argument(value)
	partner := s.partner(v, func(o *oplist.Value) bool {
		return (o.Op == oplist.Sine || o.Op == oplist.Cosine) && o.Op != value.Op
	})
	if partner == oplist.None {
		return s.function(withAmplitude[value.Op], fresh, value, oplist.None)
	}
	cosine, sine := s.newRow(), s.newRow()
	s.emit(step{do: doCosineSine, dst: cosine, b: sine, a: a, p: p})
	if value.Op == oplist.Sine {
		s.where[partner] = cosine
		return sine
	}
	s.where[partner] = sine
	return cosine
}

// partner finds a value with the same argument.
func (s *selection) partner(v oplist.ID, fits func(o *oplist.Value) bool) oplist.ID {
	for id := range s.list.Values {
		o := &s.list.Values[id]
		if s.need[id] && oplist.ID(id) != v && len(o.Args) == 1 && slices.Equal(o.Args, s.list.At(v).Args) && fits(o) {
			if _, there := s.where[oplist.ID(id)]; !there {
				return oplist.ID(id)
			}
		}
	}
	return oplist.None
}

// decay computes a Decay. It computes two short ones of the same argument in one step.
func (s *selection) decay(v oplist.ID, value *oplist.Value) int {
	p, a := s.argument(value)
	slope := func(o *oplist.Value) bool { return o.Op == oplist.Decay && len(o.Poly) <= 3 }
	if short(value) || slope(value) {
		other := s.partner(v, func(o *oplist.Value) bool {
			return o.Op == oplist.Decay && (short(value) && slope(o) || slope(value) && short(o))
		})
		switch {
		case other != oplist.None && short(value) && slope(s.list.At(other)):
			return s.decayPair(a, p, v, other, v)
		case other != oplist.None:
			return s.decayPair(a, p, other, v, v)
		case short(value):
			return s.function(doDecay, fresh, value, oplist.None)
		}
		t := step{do: doDecaySlope, dst: s.newRow(), b: s.newRow(), a: a, p: p}
		copy(t.pole[:], value.Poly)
		s.emit(t)
		return t.b
	}
	return s.longDecay(value, p, a)
}

// decayPair computes two Decays in one step and returns the row of want.
func (s *selection) decayPair(a int, p oplist.ID, value, slope, want oplist.ID) int {
	t := step{do: doDecaySlope, dst: s.newRow(), b: s.newRow(), a: a, p: p}
	copy(t.with[:], s.list.At(value).Poly[1:])
	copy(t.pole[:], s.list.At(slope).Poly)
	s.emit(t)
	s.where[value], s.where[slope] = t.dst, t.b
	return s.where[want]
}

// longDecay computes the root, the exponential and the polynomial in separate steps.
func (s *selection) longDecay(v *oplist.Value, p oplist.ID, a int) int {
	root := s.emit(step{do: functions[oplist.Sqrt], dst: s.newRow(), a: a, p: p})
	exp := s.emit(step{do: doDecline, dst: s.newRow(), a: root})
	poly := s.emit(step{do: doPolynomial, dst: s.newRow(), a: root, value: v})
	if v.Poly[0] != 0 {
		inverse := s.emit(step{do: functions[oplist.RootInverse], dst: s.newRow(), a: a, p: p})
		s.emit(step{do: doAddInverse, dst: poly, a: inverse, value: v})
	}
	return s.emit(step{do: doDamp, dst: poly, a: exp})
}

// dependences returns what each value of a list depends on. Uniform values have no part.
func dependences(list *oplist.List, features []Feature) []dependence {
	out := make([]dependence, len(list.Values))
	for id := range list.Values {
		v := &list.Values[id]
		if v.Op == oplist.Feature {
			if v.Index < len(features) { // others are not needed
				out[id] = features[v.Index].Kind.dependence()
			}
			continue
		}
		found := false
		for _, a := range v.Args {
			switch {
			case list.At(a).Uniform:
			case found && out[a] != out[id]:
				out[id] = ofBoth
			default:
				out[id], found = out[a], true
			}
		}
	}
	return out
}

// product computes a Product, from a smaller computed one if possible.
func (s *selection) product(v *oplist.Value) int {
	rows, by := s.factorRows(v)
	if by == none {
		return s.multiply(rows)
	}
	return s.emit(step{do: doScaleBy, dst: s.newRow(), a: s.multiply(rows), by: by})
}

// term returns the row of a term of a sum, without its factor by.
func (s *selection) term(v oplist.ID) (row, by int) {
	value := s.list.At(v)
	if _, there := s.where[v]; there || value.Op != oplist.Product || s.uses[v] > 1 || s.of != ofBoth || s.parts[v] != ofBoth {
		return s.row(v), none
	}
	rows, by := s.factorRows(value)
	return s.multiply(rows), by
}

// factorRows returns rows whose product is a Product, and by, the row of a factor that is the same
// in the whole row of pairs, or none.
func (s *selection) factorRows(v *oplist.Value) (rows []int, by int) {
	left := map[oplist.ID]int{}
	for i, a := range v.Args {
		left[a] = v.Powers[i]
	}
	rows = s.knownPart(v, left)
	var single []int
	for _, a := range v.Args {
		switch p := left[a]; {
		case p == 0:
		case s.of == ofBoth && s.parts[a] == ofFirst:
			s.within(ofFirst, func() int { single = append(single, s.power(a, p)); return none })
		default:
			rows = append(rows, s.power(a, p))
		}
	}
	if len(rows) == 0 {
		for _, r := range single {
			rows = append(rows, s.whole(r))
		}
		single = nil
	}
	if len(single) == 0 {
		return rows, none
	}
	s.within(ofFirst, func() int { by = s.multiply(single); return none })
	return rows, by
}

func (s *assembly) multiply(rows []int) int {
	out := rows[0]
	for _, r := range rows[1:] {
		out = s.emit(step{do: doMul, dst: s.newRow(), a: out, b: r})
	}
	return out
}

// knownPart removes from left the largest product that has a row or will have one.
func (s *selection) knownPart(v *oplist.Value, left map[oplist.ID]int) []int {
	best, size := oplist.None, 1
	for id := range s.list.Values {
		other := &s.list.Values[id]
		if !s.need[id] || other == v || other.Op != oplist.Product || other.Uniform || len(other.Args) <= size || !divides(other, left) {
			continue
		}
		if _, there := s.where[oplist.ID(id)]; there {
			best, size = oplist.ID(id), len(other.Args)
		}
	}
	if best == oplist.None {
		return nil
	}
	other := s.list.At(best)
	for i, a := range other.Args {
		left[a] -= other.Powers[i]
	}
	return []int{s.row(best)}
}

func divides(v *oplist.Value, left map[oplist.ID]int) bool {
	for i, a := range v.Args {
		if p := v.Powers[i]; p > 0 && left[a] < p || p < 0 && left[a] > p {
			return false
		}
	}
	return true
}

// power returns the row of a^p.
func (s *selection) power(a oplist.ID, p int) int {
	key := [2]int{int(a), p}
	if r, ok := s.powers[key]; ok {
		return s.whole(r)
	}
	return s.within(s.parts[a], func() int {
		r := s.newPower(a, p)
		s.powers[key] = r
		return r
	})
}

// newPower computes a^p by repeated multiplication, starting with the highest bit of p.
func (s *selection) newPower(a oplist.ID, p int) int {
	if p < 0 {
		if p == -1 {
			c, row, o := s.affine(a)
			return s.emit(step{do: doInverse, dst: s.newRow(), a: row, p: c, q: o})
		}
		return s.emit(step{do: doInverse, dst: s.newRow(), a: s.power(a, -p), p: oplist.None, q: oplist.None})
	}
	row := s.row(a)
	if p == 1 {
		return row
	}
	bit := 1
	for bit <= p/2 {
		bit *= 2
	}
	dst := s.newRow()
	out := row
	for bit /= 2; bit > 0; bit /= 2 {
		out = s.emit(step{do: doMul, dst: dst, a: out, b: out})
		if p&bit != 0 {
			s.emit(step{do: doMul, dst: dst, a: dst, b: row})
		}
	}
	return out
}
