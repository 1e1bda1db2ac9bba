package part

import (
	"slices"
	"testing"
)

// TestAxis deals out rows and columns: each belongs to one rank, in order, and to the rank of its block.
func TestAxis(t *testing.T) {
	for _, n := range []int{0, 1, 7, 8, 9, 63, 64, 65, 500} {
		for _, block := range []int{1, 8, 64, 200} {
			for of := 1; of <= 5; of++ {
				var all []int
				for at := range of {
					a := Axis{n, block, at, of}
					own := a.Globals()
					if !slices.IsSorted(own) {
						t.Errorf("%+v: not in order", a)
					}
					for i, g := range own {
						if g/block%of != at || a.Count(g) != i || a.Count(g+1) != i+1 {
							t.Fatalf("%+v: place %d is %d, which is number %d", a, i, g, a.Count(g))
						}
					}
					all = append(all, own...)
				}
				slices.Sort(all)
				for i, g := range all {
					if g != i {
						t.Fatalf("%d rows in blocks of %d on %d: number %d is %d", n, block, of, i, g)
					}
				}
				if len(all) != n {
					t.Fatalf("%d rows in blocks of %d on %d: %d belong to ranks", n, block, of, len(all))
				}
			}
		}
	}
}

func TestShape(t *testing.T) {
	t.Setenv(GridVariable, "")
	t.Setenv(BlockVariable, "")
	for ranks, want := range map[int]Shape{1: {1, 1, 128}, 2: {1, 2, 128}, 4: {2, 2, 128}, 6: {2, 3, 128}, 7: {1, 7, 128}, 12: {3, 4, 128}, 64: {8, 8, 128}} {
		if got, err := ShapeFor(ranks); err != nil || got != want {
			t.Errorf("%d ranks: %+v, %v", ranks, got, err)
		}
	}
	t.Setenv(GridVariable, "3x1")
	t.Setenv(BlockVariable, "64")
	if got, err := ShapeFor(3); err != nil || got != (Shape{3, 1, 64}) {
		t.Errorf("%+v, %v", got, err)
	}
	for _, bad := range [][2]string{{"2x2", "64"}, {"3", "64"}, {"3x1", "0"}, {"3x1", "big"}, {"-3x-1", "64"}} {
		t.Setenv(GridVariable, bad[0])
		t.Setenv(BlockVariable, bad[1])
		if got, err := ShapeFor(3); err == nil {
			t.Errorf("%v: %+v", bad, got)
		}
	}
}

// TestRanksFor compares with the limit of 2³¹−1 numbers a rank.
func TestRanksFor(t *testing.T) {
	for n, most := range map[int]int{40_000: 1, 46_340: 1, 46_500: 2, 140_000: 12, 500_000: 130} {
		s := Shape{1, 1, 128}
		ranks := s.RanksFor(n)
		if ranks > most || float64(n)*float64(n)/float64(ranks) > mostNumbers || (ranks == 1) != s.Fits(n) {
			t.Errorf("n = %d: %d ranks, want at most %d", n, ranks, most)
		}
	}
}
