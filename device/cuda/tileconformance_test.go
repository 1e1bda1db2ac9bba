package cuda

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"gpfit/device"
	"gpfit/device/cuda/emulator"
	"gpfit/device/devicetest"
	"gpfit/device/devicetest/methodtest"
	"gpfit/internal/testcheck"
	"gpfit/kernel"
	"gpfit/kernel/kerneltest"
	"gpfit/method/tiles"
)

// smallCards opens count devices, each with memory for a sixth of a matrix of n rows in tiles, and for copies.
func smallCards(t *testing.T, count, n, order int) (on []device.Device) {
	side := (n + order - 1) / order
	j := newJob(t, n)
	for i := range count {
		d := openBare(t, i)
		roomForTiles(d, j, order, 1+side*(side+1)/12+side+4)
		on = append(on, d)
	}
	return on
}

// tilesOn returns the method on devices.
func tilesOn(t *testing.T, order int, on ...device.Device) device.Backend {
	t.Helper()
	return testcheck.Get(tiles.Method{Order: order}.Backends(on))(t)[0]
}

// TestTilesConform runs the suite of methods on several devices, in whose memory the suite's largest matrix does not fit.
func TestTilesConform(t *testing.T) {
	emulator.Need(t)
	t.Parallel()
	counts := []int{2}
	if testcheck.Long() {
		counts = []int{1, 2, 4}
	}
	for _, count := range counts {
		t.Run(fmt.Sprint(count), func(t *testing.T) {
			if emulator.Rerun(t, emulator.Config{Devices: count}) {
				return
			}
			const order, largest = 48, 500
			b := tilesOn(t, order, smallCards(t, count, largest, order)...)
			devicetest.Run(t, func(*testing.T) device.Backend { return b })
		})
	}
}

// TestTilesAgainstDense compares the method tiles on two devices with the method dense on one device. The sums have
// another order. Their errors are a few units of the last place of the largest terms.
func TestTilesAgainstDense(t *testing.T) {
	emulator.Need(t)
	t.Parallel()
	texts := []string{"rbf(ard) + matern12*rq(dims=1)", "periodic(ard)*rbf(dims=1) + constant", "linear(dims=0)*cosine(dims=1) + rbf"}
	sizes := map[int][]string{97: texts, 500: texts[:1]}
	if testcheck.Long() {
		sizes = map[int][]string{97: texts, 500: texts, 1000: texts, 3000: texts[:1]}
	}
	for n, texts := range sizes {
		for _, order := range []int{64, 200} {
			t.Run(fmt.Sprintf("%d/%d", n, order), func(t *testing.T) {
				if emulator.Rerun(t, emulator.Config{Devices: 2}) {
					return
				}
				for _, text := range texts {
					compareTiles(t, randomInstance(t, text, n), order)
				}
			})
		}
	}
}

func randomInstance(t *testing.T, text string, n int) *methodtest.Instance {
	const d = 3
	rng := rand.New(rand.NewPCG(3, uint64(n)))
	numbers := make([]float64, n*(d+1))
	for i := range numbers {
		numbers[i] = rng.NormFloat64()
	}
	p := &methodtest.Instance{X: kernel.NewPoints(numbers[:n*d], n, d), Prog: kerneltest.Program(t, text, d), Noise: []float64{0.1}, Y: numbers[n*d:]}
	for i := range p.Prog.NumParams {
		p.Theta = append(p.Theta, 0.8+0.1*float64(i))
	}
	return p
}

func compareTiles(t *testing.T, p *methodtest.Instance, order int) {
	t.Helper()
	const valueTolerance, gradientTolerance = 1e-13, 1e-12
	likelihood := func(b device.Backend) (value, size float64, gradient []float64) {
		logDet, fit, gradient, err := methodtest.Likelihood(t, b, p)
		testcheck.Do(t, err)
		return (logDet + fit) / 2, (math.Abs(logDet) + math.Abs(fit)) / 2, gradient
	}
	emulator.SetMemory(0, 1<<30)
	want, size, slopes := likelihood(device.Dense{}.On(openBare(t, 0)))
	value, _, gradient := likelihood(tilesOn(t, order, smallCards(t, 2, p.X.N, order)...))
	if off := math.Abs(value - want); !(off <= valueTolerance*size) {
		t.Errorf("%s, n = %d: value %v, dense %v", p.Prog.Text, p.X.N, value, want)
	}
	for i, v := range slopes {
		if off := math.Abs(gradient[i] - v); !(off <= gradientTolerance*(size+math.Abs(v))) {
			t.Errorf("%s, n = %d: derivative by %s %v, dense %v", p.Prog.Text, p.X.N, p.Prog.Names()[i], gradient[i], v)
		}
	}
}
