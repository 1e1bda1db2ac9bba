package gp

import (
	"context"
	"testing"

	"gpfit/internal/must"
)

// BenchmarkExtend adds 40 rows to a model of 4,000, by extending its factor and by a
// fresh factorisation of all rows; both score the new rows.
func BenchmarkExtend(b *testing.B) {
	const n, count = 4000, 40
	m := newModel(b, n)
	add := Addition{X: newRows(count), N: count}
	for i := range count {
		add.Y = append(add.Y, 100+float64(i%3))
	}
	before := must.Get(m.Condition(context.Background(), backend))(b)
	defer before.Close()
	b.Run("extended", func(b *testing.B) {
		for b.Loop() {
			p, _ := must.Get2(before.Extend(context.Background(), backend, add))(b)
			p.Close()
		}
	})
	b.Run("afresh", func(b *testing.B) {
		for b.Loop() {
			p, _ := must.Get2(m.Extend(context.Background(), backend, add))(b)
			p.Close()
		}
	})
}
