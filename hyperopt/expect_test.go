package hyperopt

import (
	"slices"
	"testing"
)

func TestExpected(t *testing.T) {
	for _, c := range []struct {
		s          Settings
		rows, free int
		want       []Expectation
	}{
		{Settings{}, 500, 3, []Expectation{{250, 80}, {500, 47}}},
		{Settings{}, 150, 3, []Expectation{{150, 28}}},
		{Settings{}, 3000, 3, []Expectation{{750, 144}, {1500, 8}, {3000, 11}}},
		{Settings{Coarse: CoarseOff, Restarts: 1}, 3000, 3, []Expectation{{3000, 56}}},
		{Settings{Coarse: CoarseCheck}, 3000, 3, []Expectation{{750, 144}, {1500, 8}, {3000, 39}}},
		{Settings{Coarse: CoarseCheck}, 150, 3, []Expectation{{150, 28}}},
		{Settings{Restarts: 2}, 600, 3, []Expectation{{300, 80}, {600, 58}}},
		{Settings{Restarts: 2}, 3000, 3, []Expectation{{750, 144}, {1500, 24}, {3000, 33}}},
	} {
		if got := Expected(c.s, c.rows, c.free); !slices.Equal(got, c.want) {
			t.Errorf("%+v, %d rows: %v, want %v", c.s, c.rows, got, c.want)
		}
	}
}
