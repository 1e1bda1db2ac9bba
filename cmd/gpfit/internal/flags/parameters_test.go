package flags

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"gpfit/cmd/gpfit/internal/exit"
)

func TestParseGrid(t *testing.T) {
	got, err := ParseGrid("-1:1:5")
	if err != nil || !slices.Equal(got, []float64{-1, -0.5, 0, 0.5, 1}) {
		t.Errorf("grid %v, %v", got, err)
	}
}

// FuzzParseGrid: a grid is ascending and ends where it should, or an error.
func FuzzParseGrid(f *testing.F) {
	for _, text := range []string{"0:1:3", "-1e3:1e-3:100", "0:inf:3", "nan:1:2", "0:1:-3", "1:0:3", ":::", "0:1:99999999999999999999", "-1e308:1e308:3", "0:5e-324:3"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if i := strings.LastIndexByte(text, ':'); i >= 0 && len(text)-i > 6 {
			return // no more than 99,999 rows
		}
		grid, err := ParseGrid(text)
		if err != nil {
			var usage *exit.UsageError
			if !errors.As(err, &usage) {
				t.Fatalf("%q: %v", text, err)
			}
			return
		}
		if len(grid) < 2 || !slices.IsSorted(grid) || grid[0] >= grid[len(grid)-1] {
			t.Fatalf("%q: %v", text, grid)
		}
	})
}
