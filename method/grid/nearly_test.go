package grid

import (
	"testing"

	"gpfit/internal/testcheck"
	"gpfit/kernel"
)

// TestNearly checks what is said of grids with gaps and repeated rows, and that whole grids and other tables get no word.
func TestNearly(t *testing.T) {
	prog := testcheck.Get(kernel.CompileText("rbf(ard)", 2))(t)
	points := func(skip map[int]bool, more ...int) *kernel.Points {
		var rows [][2]float64
		for i := range 300 {
			if !skip[i] {
				rows = append(rows, [2]float64{float64(i / 20), float64(i % 20)})
			}
		}
		for _, i := range more {
			rows = append(rows, rows[i])
		}
		x := kernel.NewPoints(make([]float64, 2*len(rows)), len(rows), 2)
		for i, r := range rows {
			x.Column(0)[i], x.Column(1)[i] = r[0], r[1]
		}
		return x
	}
	many := map[int]bool{}
	for i := range 60 {
		many[5*i] = true
	}
	for _, c := range []struct {
		x     *kernel.Points
		words []string
	}{
		{points(nil), nil},
		{points(many), nil},
		{points(map[int]bool{7: true, 31: true}), []string{"15 × 20, with 2 combinations missing:"}},
		{points(nil, 3), []string{"15 × 20, with 1 repeated row:"}},
		{points(map[int]bool{7: true}, 3, 4), []string{"with 1 combination missing and 2 repeated rows:"}},
	} {
		got := Nearly(prog, c.x)
		if testcheck.Words(t, got, c.words...); c.words == nil && got != "" {
			t.Errorf("%d rows: %q", c.x.N, got)
		}
	}
	if got := Nearly(testcheck.Get(kernel.CompileText("matern32", 2))(t), points(nil, 3)); got != "" {
		t.Errorf("a kernel that no grid divides: %q", got)
	}
}
