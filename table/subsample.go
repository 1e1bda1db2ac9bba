package table

import (
	"fmt"
	"math/rand/v2"
	"sort"
)

// sample draws rows uniformly without replacement as they are read, by Algorithm R
// (Vitter 1985, "Random sampling with a reservoir", ACM Trans. Math. Software 11).
// The result depends only on the seed and the number of rows.
type sample struct {
	size int
	seed uint64
	seen uint64
	rng  *rand.Rand
	// whole marks the rows of the source that stay; drawn holds the positions of the others
	// in the table.
	whole []bool
	drawn []int
}

// newSample returns nil if opts asks for all rows.
func newSample(opts Options) *sample {
	if opts.Subsample <= 0 {
		return nil
	}
	// The stream number separates this use of the seed from others.
	const stream = 0x7375_6273_616d_706c
	return &sample{size: opts.Subsample, seed: opts.Seed, whole: opts.Whole, rng: rand.New(rand.NewPCG(opts.Seed, stream))}
}

// settle decides about the last row of t: it stays, replaces another, or is dropped.
func (s *sample) settle(t *Table) {
	last := t.N - 1
	if row := t.Row[last]; row < len(s.whole) && s.whole[row] {
		return
	}
	s.seen++
	if len(s.drawn) < s.size {
		s.drawn = append(s.drawn, last)
		return
	}
	if j := s.rng.Uint64N(s.seen); j < uint64(s.size) {
		t.swap(s.drawn[j], last)
	}
	t.truncate(last)
}

// finish sorts the rows in the order of the source. It returns a note on the
// subsample, or "" if no row is missing.
func (s *sample) finish(t *Table) string {
	if s == nil {
		return ""
	}
	if t.N == t.SourceRows {
		t.Row = nil
		return ""
	}
	if s.seen <= uint64(s.size) {
		return ""
	}
	sort.Sort(byRow{t})
	if kept := t.N - s.size; kept > 0 {
		return fmt.Sprintf("subsample: %d of %d training rows drawn at random (seed %d); all %d held-out rows are kept", s.size, s.seen, s.seed, kept)
	}
	return fmt.Sprintf("subsample: %d of %d rows drawn at random (seed %d)", t.N, s.seen, s.seed)
}

// byRow sorts a table by the position of its rows in the source.
type byRow struct{ t *Table }

func (b byRow) Len() int           { return b.t.N }
func (b byRow) Less(i, j int) bool { return b.t.Row[i] < b.t.Row[j] }
func (b byRow) Swap(i, j int)      { b.t.swap(i, j) }

// swap exchanges two rows.
func (t *Table) swap(i, j int) {
	for q := range t.D {
		t.X[i*t.D+q], t.X[j*t.D+q] = t.X[j*t.D+q], t.X[i*t.D+q]
	}
	exchange(i, j, t.Line, t.Row)
	exchange(i, j, t.Y)
	exchange(i, j, t.Gap)
	exchange(i, j, t.Targets...)
	exchange(i, j, t.Missing...)
	exchange(i, j, t.Keep...)
	for _, v := range t.Extra {
		exchange(i, j, v)
	}
	for _, v := range t.ExtraText {
		exchange(i, j, v)
	}
}

// exchange exchanges two rows of columns, of which some may be nil.
func exchange[E any](i, j int, columns ...[]E) {
	for _, c := range columns {
		if c != nil {
			c[i], c[j] = c[j], c[i]
		}
	}
}

// truncate keeps the first n rows.
func (t *Table) truncate(n int) {
	t.N = n
	t.X, t.Y, t.Line, t.Row, t.Gap = t.X[:n*t.D], first(n, t.Y), t.Line[:n], first(n, t.Row), first(n, t.Gap)
	for k := range t.Targets {
		t.Targets[k], t.Missing[k] = t.Targets[k][:n], t.Missing[k][:n]
	}
	for name, v := range t.Extra {
		t.Extra[name] = first(n, v)
	}
	for name, v := range t.ExtraText {
		t.ExtraText[name] = first(n, v)
	}
	for i, v := range t.Keep {
		t.Keep[i] = first(n, v)
	}
}

// first returns the first n values, all if there are fewer.
func first[E any](n int, v []E) []E { return v[:min(n, len(v))] }

// reserve makes room for n rows.
func (t *Table) reserve(n int) {
	t.X = withRoom(t.X, n*t.D)
	t.Line = withRoom(t.Line, n)
	if t.Row != nil {
		t.Row = withRoom(t.Row, n)
	}
	if t.TargetName != "" {
		t.Y = withRoom(t.Y, n)
	}
	for k := range t.Targets {
		t.Targets[k], t.Missing[k] = withRoom(t.Targets[k], n), withRoom(t.Missing[k], n)
	}
	for name, v := range t.Extra {
		t.Extra[name] = withRoom(v, n)
	}
	for name, v := range t.ExtraText {
		t.ExtraText[name] = withRoom(v, n)
	}
}

// withRoom returns s with a capacity of exactly n. append would take more.
func withRoom[E any](s []E, n int) []E {
	if cap(s) >= n {
		return s
	}
	return append(make([]E, 0, n), s...)
}
