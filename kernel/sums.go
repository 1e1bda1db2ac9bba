package kernel

import (
	"slices"

	"gpfit/kernel/oplist"
)

// sumsAndColumns computes the sums of a gradient, Sums before the sums by columns, which
// fill the cache. One step computes both for an exponential of a distance.
func (s *selection) sumsAndColumns(g *Gradient) {
	together := func(v oplist.ID) bool {
		if v == oplist.None || s.uses[v] > 0 || !slices.Contains(g.Sums, v) {
			return false
		}
		_, _, ok := s.ofDistance(s.list.At(v))
		return ok
	}
	inColumns := func(v oplist.ID) bool {
		return slices.ContainsFunc(g.Columns, func(c ColumnSums) bool { return c.Weight == v })
	}
	for _, v := range g.Sums {
		if together(v) && inColumns(v) {
			s.sums++
			continue
		}
		s.sum(v)
	}
	for c, column := range g.Columns {
		if v := column.Weight; together(v) {
			p, feature, _ := s.ofDistance(s.list.At(v))
			s.emit(step{do: doSumExpOfDistance, dst: s.newRow(), a: feature, b: slices.Index(g.Sums, v), index: c, p: p})
			continue
		}
		s.columns(c, column.Weight)
	}
}

// sum sums the given row times a value, which has no uniform factor.
func (s *selection) sum(v oplist.ID) {
	t := step{do: doSum, index: s.sums, by: none}
	s.sums++
	if v == oplist.None {
		s.emit(t)
		return
	}
	value := s.list.At(v)
	if _, there := s.where[v]; there || value.Op != oplist.Product || s.uses[v] > 0 || value.Powers[len(value.Args)-1] < 0 && value.Powers[0] < 0 {
		t.do, t.a = doDot, s.row(v)
		s.emit(t)
		return
	}
	rows, by := s.factorRows(value)
	t.do, t.a, t.by = doDot, rows[0], by
	if len(rows) > 1 {
		t.do, t.b = doTripleDot, s.multiply(rows[1:])
	}
	s.emit(t)
}

// columns passes on the given row times a value for the c-th sums by columns.
func (s *selection) columns(c int, v oplist.ID) {
	t := step{do: doColumns, a: given, index: c}
	if v != oplist.None {
		t.a, t.dst = s.row(v), s.newRow()
	}
	s.emit(t)
}
