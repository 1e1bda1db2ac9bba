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
	t.Line[i], t.Line[j] = t.Line[j], t.Line[i]
	t.Row[i], t.Row[j] = t.Row[j], t.Row[i]
	if t.Y != nil {
		t.Y[i], t.Y[j] = t.Y[j], t.Y[i]
	}
	for k := range t.Targets {
		t.Targets[k][i], t.Targets[k][j] = t.Targets[k][j], t.Targets[k][i]
		t.Missing[k][i], t.Missing[k][j] = t.Missing[k][j], t.Missing[k][i]
	}
	for _, v := range t.Extra {
		v[i], v[j] = v[j], v[i]
	}
	for _, v := range t.ExtraText {
		v[i], v[j] = v[j], v[i]
	}
	for _, v := range t.Keep {
		v[i], v[j] = v[j], v[i]
	}
	if t.Gap != nil {
		t.Gap[i], t.Gap[j] = t.Gap[j], t.Gap[i]
	}
}

// truncate keeps the first n rows.
func (t *Table) truncate(n int) {
	t.N = n
	t.X, t.Line = t.X[:n*t.D], t.Line[:n]
	if t.Y != nil {
		t.Y = t.Y[:n]
	}
	if t.Row != nil {
		t.Row = t.Row[:min(n, len(t.Row))]
	}
	for k := range t.Targets {
		t.Targets[k], t.Missing[k] = t.Targets[k][:n], t.Missing[k][:n]
	}
	for name, v := range t.Extra {
		t.Extra[name] = v[:min(n, len(v))]
	}
	for name, v := range t.ExtraText {
		t.ExtraText[name] = v[:min(n, len(v))]
	}
	for i, v := range t.Keep {
		t.Keep[i] = v[:min(n, len(v))]
	}
	t.Gap = t.Gap[:min(n, len(t.Gap))]
}

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

// identity returns 0, 1, …, n−1.
func identity(n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	return all
}
