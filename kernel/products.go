package kernel

import "gpfit/internal/code"

// product computes a Product, from a smaller computed one if possible.
func (s *selection) product(v *code.Value) int {
	rows, by := s.factorRows(v)
	if by == none {
		return multiplyRows(s, rows)
	}
	return s.emit(step{do: doScaleBy, dst: s.newRow(), a: multiplyRows(s, rows), by: by})
}

// term returns the row of a term of a sum, without its factor by.
func (s *selection) term(v code.ID) (row, by int) {
	value := s.list.At(v)
	if _, there := s.where[v]; there || value.Op != code.Product || s.uses[v] > 1 || s.of != ofBoth || s.parts[v] != ofBoth {
		return s.row(v), none
	}
	rows, by := s.factorRows(value)
	return multiplyRows(s, rows), by
}

// none stands for no row.
const none = -3

// factorRows returns rows whose product is a Product, and by, the row of a factor that is the same
// in the whole row of pairs, or none.
func (s *selection) factorRows(v *code.Value) (rows []int, by int) {
	left := map[code.ID]int{}
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
	s.within(ofFirst, func() int { by = multiplyRows(s, single); return none })
	return rows, by
}

func multiplyRows(s *selection, rows []int) int {
	out := rows[0]
	for _, r := range rows[1:] {
		out = s.emit(step{do: doMul, dst: s.newRow(), a: out, b: r})
	}
	return out
}

// knownPart removes from left the largest product that has a row or will have one.
func (s *selection) knownPart(v *code.Value, left map[code.ID]int) []int {
	best, size := code.None, 1
	for id := range s.list.Values {
		other := &s.list.Values[id]
		if !s.need[id] || other == v || other.Op != code.Product || other.Uniform || len(other.Args) <= size || !divides(other, left) {
			continue
		}
		if _, there := s.where[code.ID(id)]; there {
			best, size = code.ID(id), len(other.Args)
		}
	}
	if best == code.None {
		return nil
	}
	other := s.list.At(best)
	for i, a := range other.Args {
		left[a] -= other.Powers[i]
	}
	return []int{s.row(best)}
}

func divides(v *code.Value, left map[code.ID]int) bool {
	for i, a := range v.Args {
		if p := v.Powers[i]; p > 0 && left[a] < p || p < 0 && left[a] > p {
			return false
		}
	}
	return true
}

// power returns the row of a^p.
func (s *selection) power(a code.ID, p int) int {
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
func (s *selection) newPower(a code.ID, p int) int {
	if p < 0 {
		if p == -1 {
			c, row, o := s.affine(a)
			return s.emit(step{do: doInverse, dst: s.newRow(), a: row, p: c, q: o})
		}
		return s.emit(step{do: doInverse, dst: s.newRow(), a: s.power(a, -p), p: code.None, q: code.None})
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
