package cuda

import "testing"

// TestStepsOfSlowCards checks that no step takes longer than longestStep at the rate of the card,
// unless blocks have their minimum width, and that fast cards and unknown rates change nothing.
func TestStepsOfSlowCards(t *testing.T) {
	for _, n := range []int64{2000, 20000, 60000, 100000} {
		for _, rate := range []float64{3e11, 1e12, 2.5e12, 1e13} {
			d := &Device{sizes: defaultSizes, flopRate: func() float64 { return rate }}
			s := d.sizesFor(int(n))
			width := float64(s.factor)
			for what, operations := range map[string]float64{
				"product": s.gemm, "Cholesky": cube(s.factor) / 3, "solve": max(64*width*width, min(s.gemm, float64(n-s.factor)*width*width)),
				"symmetric product": 2 * float64(s.symm) * float64(s.symm) * float64(s.panelWidth(n)),
				"prediction":        float64(n) * float64(n) * float64(s.crossWidth(n)),
			} {
				narrow := s.factor == 256 || s.symm == 256 || s.crossWidth(n) == 32
				if took := operations / rate; took > longestStep && !narrow {
					t.Errorf("n = %d at %.1e/s: a step of %s takes %.2f s, %+v", n, rate, what, took, s)
				}
			}
			if s.factor < 256 || s.symm < 256 || s.panelWidth(n) != panelWidth(n) {
				t.Errorf("n = %d at %.1e/s: %+v", n, rate, s)
			}
		}
		for _, rate := range []float64{0, 4e13, 6e13} {
			if s := defaultSizes.at(rate, n); s != defaultSizes {
				t.Errorf("n = %d at %.1e/s: %+v", n, rate, s)
			}
		}
	}
	untimed := &Device{sizes: defaultSizes, flopRate: func() float64 { panic("timed") }}
	if s := untimed.sizesFor(1999); s != defaultSizes {
		t.Errorf("a small job: %+v", s)
	}
}
