package spd

import (
	"os"
	"strings"
	"testing"

	"gpfit/internal/testcheck"
)

// TestInstructionCounts counts the instructions in the loops of the NEON micro-kernels. A loop does
// four columns; a load is a pair of registers.
func TestInstructionCounts(t *testing.T) {
	type counts struct{ fma, loads, prefetches, others int }
	want := map[string]counts{
		"tileProductNEONx3": {96, 16, 6, 6},
		"tileProductNEONx2": {64, 12, 4, 5},
		"tileProductNEONx1": {32, 8, 2, 4},
		"tileSolveNEONx3":   {96, 16, 6, 6},
		"tileSolveNEONx2":   {64, 12, 4, 5},
		"tileSolveNEONx1":   {32, 8, 2, 4},
		"choleskyNEON":      {32, 8, 2, 4},
		"squaresNEON":       {8, 4, 0, 3},
		"panelVectorNEON":   {8, 5, 0, 4},
	}
	text := testcheck.Get(os.ReadFile("kernels_neon_arm64.s"))(t)
	for _, routine := range strings.Split(string(text), "TEXT ·")[1:] {
		name, body, _ := strings.Cut(routine, "(SB)")
		expected, ok := want[name]
		if !ok {
			continue
		}
		delete(want, name)
		_, loop, _ := strings.Cut(body, "\nloop:\n")
		loop, _, _ = strings.Cut(loop, " loop\n") // the jump back
		var got counts
		for line := range strings.Lines(loop) {
			switch {
			case strings.Contains(line, "// fmla"), strings.Contains(line, "VFMLA"):
				got.fma++
			case strings.Contains(line, "FLDPQ"):
				got.loads++
			case strings.Contains(line, "PRFM"):
				got.prefetches++
			default:
				got.others++
			}
		}
		if got != expected {
			t.Errorf("%s: %+v, want %+v", name, got, expected)
		}
	}
	if len(want) > 0 {
		t.Errorf("no routines %v", want)
	}
}
