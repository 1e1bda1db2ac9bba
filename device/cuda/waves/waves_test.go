package waves

import "testing"

const streams = 12

// TestWaves counts, for graphics processors of 114, 132 and 144 multiprocessors, which share of the time of the phases has a
// tile on each, and the operations of an inversion.
func TestWaves(t *testing.T) {
	for _, multiprocessors := range []int{114, 132, 144} {
		for n, least := range map[int64]float64{3000: 0.45, 5000: 0.7, 10_000: 0.9, 20_000: 0.9, 35_000: 0.9} {
			s := Inversion{N: n, Leaf: 512}
			phases, _ := s.Phases(streams, multiprocessors)
			count, flops := 0, 0.0
			var time, work int64
			for _, p := range phases {
				took, did := p.Waves(streams, multiprocessors)
				time, work, count, flops = time+took, work+did, count+len(p), flops+p.Flops()
			}
			share, ratio := float64(work)/float64(multiprocessors)/float64(time), flops/(float64(n)*float64(n)*float64(n))
			t.Logf("%d multiprocessors, n = %d: tiles/waves %.3f in %d products, %.3f n³ operations", multiprocessors, n, share, count, ratio)
			if share < least || n >= 10_000 && ratio > 2.0/3+0.06 || ratio < 2.0/3 {
				t.Errorf("%d multiprocessors, n = %d: tiles/waves %.3f, %.3f n³ operations", multiprocessors, n, share, ratio)
			}
		}
	}
}

// TestWavesOfPhases compares the time of simple phases with what can be counted by hand.
func TestWavesOfPhases(t *testing.T) {
	square := Gemm{M: 512, N: 512, K: 100} // 16 tiles
	for _, c := range []struct {
		p                        Phase
		streams, multiprocessors int
		time, work               int64
	}{
		{Phase{square}, 1, 16, 100, 1600},
		{Phase{square}, 1, 15, 200, 1600},
		{Phase{square, square}, 1, 32, 200, 3200},
		{Phase{square, square}, 2, 32, 100, 3200},
		{Phase{square, square, square}, 3, 32, 200, 4800},
		{Phase{{M: 1, N: 129, K: 7}, {M: 128, N: 1, K: 30}}, 2, 3, 30, 44},
		{nil, 3, 8, 0, 0},
	} {
		if time, work := c.p.Waves(c.streams, c.multiprocessors); time != c.time || work != c.work {
			t.Errorf("%d products on %d streams: time %d, work %d; want %+v", len(c.p), c.streams, time, work, c)
		}
	}
}
