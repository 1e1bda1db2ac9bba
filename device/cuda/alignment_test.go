package cuda

import (
	"testing"

	"gpfit/device/cuda/emulator"
)

// TestAlignment checks that every matrix passed to the libraries, and each of its
// columns, begins on a memory line, for every n and every division of the work.
func TestAlignment(t *testing.T) {
	emulator.Check(t)
	b := openBare(t, 0)
	defer mustClose(t, b)
	slow := sizes{fill: 64, factor: 64, invert: 64, panel: 48, gemm: 1.5e5, cross: 32}
	for _, steps := range []sizes{defaultSizes, slow} {
		b.sizes = steps
		for _, n := range []int{131, 257} {
			j, routines := newJob(t, n), map[string]int{}
			calls := emulator.Record(t, func() { j.mustRun(t, b, nil) })
			for _, c := range calls {
				routines[c.Routine]++
				for i := range c.LD {
					if c.Offset[i]%128 != 0 || c.LD[i]%lineElements != 0 {
						t.Fatalf("n = %d, %+v: matrix %d of %s is not aligned: %+v", n, steps, i, c.Routine, c)
					}
				}
			}
			for _, name := range []string{"gemm", "symm", "trsm", "trmm", "potrf", "trtri"} {
				if routines[name] == 0 {
					t.Errorf("n = %d: no call of %s among %v", n, name, routines)
				}
			}
		}
	}
}

// TestPanelsFillDevice checks that the products of a panel have a tile for every
// multiprocessor as soon as a quarter of the matrix has.
func TestPanelsFillDevice(t *testing.T) {
	for n := int64(1); n <= 131_072; n += 1 + n/7 {
		width := panelWidth(n)
		full := tiles(n)*(width/tileSide) >= multiprocessors
		switch {
		case width < n && width%tileSide != 0:
			t.Errorf("n = %d: panels of %d columns cut tiles", n, width)
		case !full && width < n/4:
			t.Errorf("n = %d: panels of %d columns have %d tiles", n, width, tiles(n)*tiles(width))
		case n > 4096 && width*20 > n*3, width > max(n/4+tileSide, tileSide):
			t.Errorf("n = %d: panels of %d columns", n, width)
		}
	}
	emulator.Check(t)
	b := openBare(t, 0)
	defer mustClose(t, b)
	const n = 400
	b.sizes = sizes{fill: n, factor: 128, invert: 128, gemm: 1e12}
	widest := int64(0)
	for _, c := range emulator.Record(t, func() { newJob(t, n).mustRun(t, b, nil) }) {
		if c.Routine == "gemm" && c.K >= tileSide { // the products of means are narrower
			widest = max(widest, c.N)
		}
	}
	if widest != panelWidth(n) {
		t.Errorf("products of %d columns at most, panels of %d", widest, panelWidth(n))
	}
}
