package cuda

import (
	"testing"

	"gpfit/internal/cuda/emulator"
	"gpfit/internal/cuda/kernels"
)

// TestAlignment checks that every matrix passed to the libraries, and each of its
// columns, begins on a memory line, for every n and every division of the work.
func TestAlignment(t *testing.T) {
	b := checked(t)
	slow := sizes{fill: 64, factor: 64, symm: 64, leaf: 16, panel: 64, gemm: 1.5e5, cross: 32}
	for _, steps := range []sizes{defaultSizes, slow} {
		b.sizes = steps
		for _, n := range []int{257, 391} {
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
			for _, name := range []string{"gemm", "gemmbatched", "symm", "trsm", "potrf"} {
				if routines[name] == 0 {
					t.Errorf("n = %d: no call of %s among %v", n, name, routines)
				}
			}
		}
	}
}

// TestPanelWidth checks that panels are the least power of two times the blocks of the
// kernel that covers n, up to 512.
func TestPanelWidth(t *testing.T) {
	for n := int64(1); n <= 131_072; n += 1 + n/7 {
		width := panelWidth(n)
		doublings := 0
		for w := int64(kernels.MaxInvert); w < width; w *= 2 {
			doublings++
		}
		if width != kernels.MaxInvert<<doublings || width > 512 || (width < n && width < 512) || (width > kernels.MaxInvert && width/2 >= n) {
			t.Errorf("n = %d: panels of %d columns", n, width)
		}
	}
}
