package kernel

import (
	"gpfit/internal/code"
	"gpfit/internal/vec"
)

// dependence is the part of a pair that a value depends on.
type dependence uint8

const (
	ofBoth dependence = iota
	ofFirst
	ofSecond
)

// dependences returns what each value of a list depends on. Uniform values have no part.
func dependences(list *code.List, features []Feature) []dependence {
	out := make([]dependence, len(list.Values))
	for id := range list.Values {
		v := &list.Values[id]
		if v.Op == code.Feature {
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

// seconds computes the values that depend on the second point alone. They are the same in all rows
// of a matrix, so it keeps them, in pieces that it computes when a row first needs them.
type seconds struct {
	features []int
	steps    []step
	// rows are the numbers of the rows that the features and the steps fill, and values these rows for
	// all points. coordinates are the columns of the features that they come from.
	rows                []int
	values, coordinates [][]float64
	// known says which pieces have been computed.
	known []bool
}

const (
	// piece is the number of points whose values are computed together.
	piece = 64
	// mostKept is the number of points up to which all values are kept.
	mostKept = 1 << 18
)

// forget marks all values as unknown.
func (s *seconds) forget() { clear(s.known) }

// run makes the rows of r those of the m points from j0 on.
func (s *seconds) run(r *routine, m int) {
	if len(s.rows) == 0 {
		return
	}
	n, j0 := r.pairs.y.N, r.pairs.j0
	if n > mostKept {
		n, j0 = m, 0 // only the present points
		s.forget()
	}
	s.room(r, n)
	if !s.holds(r, j0, m) {
		s.forget()
	}
	for k := j0 / piece; k*piece < j0+m; k++ {
		if !s.known[k] {
			s.compute(r, k*piece, min((k+1)*piece, n), r.pairs.j0-j0)
			s.known[k] = true
		}
	}
	for i, row := range s.rows {
		r.rows[row] = s.values[i][j0 : j0+m]
	}
}

// room makes space for n points.
func (s *seconds) room(r *routine, n int) {
	if s.values != nil && len(s.values[0]) == n {
		return
	}
	columns := 0
	for _, k := range s.features {
		columns += len(r.features[k].Dims)
	}
	rows := func(count int) [][]float64 {
		out := make([][]float64, count)
		for i := range out {
			out[i] = make([]float64, n)
		}
		return out
	}
	s.values, s.coordinates, s.known = rows(len(s.rows)), rows(columns), make([]bool, (n+piece-1)/piece)
}

// compute fills the values from j on, below end. The first of the values belongs to point shift.
func (s *seconds) compute(r *routine, j, end, shift int) {
	for i, row := range s.rows {
		r.rows[row] = s.values[i][j:end]
	}
	y := r.pairs.y.X[shift+j:]
	at := 0
	for _, k := range s.features {
		f := &r.features[k]
		r.measures.ofOnePoint(r.rows[k], f, r.measures.points[k], r.measures.weights[k], y, r.pairs.y.N)
		for _, c := range f.Dims {
			copy(s.coordinates[at][j:end], y[c*r.pairs.y.N:])
			at++
		}
	}
	for i := range s.steps {
		s.steps[i].do(r, &s.steps[i], end-j)
	}
}

// holds reports whether the values that are known of the m present points are theirs, whatever the
// address of their coordinates.
func (s *seconds) holds(r *routine, j0, m int) bool {
	at := 0
	for _, k := range s.features {
		for _, c := range r.features[k].Dims {
			present := r.pairs.others()[c*r.pairs.y.N:][:m]
			held := s.coordinates[at]
			for p := j0 / piece; p*piece < j0+m; p++ {
				from, to := max(p*piece, j0), min((p+1)*piece, j0+m)
				if s.known[p] && !vec.Equal(held[from:to], present[from-j0:]) {
					return false
				}
			}
			at++
		}
	}
	return true
}
