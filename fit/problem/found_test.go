package problem

import (
	"fmt"
	"math"
	"testing"

	"gpfit/graph"
	"gpfit/internal/testcheck"
)

// TestFoundStarts checks how far a start value widens default bounds: tenfold if the user chose
// it, and no further than itself if another fit found it, of noise not at all. Bounds, a floor and
// a prior of the options move a found start.
func TestFoundStarts(t *testing.T) {
	d := Data{N: 50, D: 1}
	for i := range d.N {
		d.X, d.Y = append(d.X, float64(i)), append(d.Y, math.Sin(float64(i)/5))
	}
	fresh := testcheck.Get(New(d, Options{Kernel: "rbf", Mean: "zero"}))(t).Params
	noise, length := fresh.Free[fresh.Find("noise_variance")[0]], fresh.Free[fresh.Find("lengthscale")[0]]
	for _, c := range []struct {
		name                string
		value               float64
		found               bool
		o                   Options
		start, lower, upper float64
	}{
		{"noise_variance", 1e-12, true, Options{Kernel: "rbf", Mean: "zero"}, noise.Lower, noise.Lower, noise.Upper},
		{"noise_variance", 1e-12, false, Options{Kernel: "rbf", Mean: "zero"}, 1e-12, 1e-13, noise.Upper},
		{"noise_variance", 1e-12, true, Options{Kernel: "rbf", Mean: "zero", NoiseFloor: NoiseFloor{Variance: 1e-5}}, 1e-5, 1e-5, noise.Upper},
		{"noise_variance", 1e-12, true, Options{Kernel: "rbf", Mean: "zero", Bounds: []Interval{{"noise_variance", 1e-14, 1e-13}}}, 1e-13, 1e-14, 1e-13},
		{"noise_variance", 1e-12, true, Options{Kernel: "rbf", Mean: "zero", Priors: []ParameterPrior{{"noise_variance", testcheck.Get(graph.ParsePrior("uniform(0.001, 1)"))(t)}}}, 1e-3, 1e-3, 1},
		{"noise_variance", 1e-12, true, Options{Kernel: "rbf", Mean: "zero", Fix: []Assignment{{Name: "noise_variance"}}}, 1e-12, 1e-12, noise.Upper},
		{"lengthscale", 1e6, true, Options{Kernel: "rbf", Mean: "zero"}, 1e6, length.Lower, 1e6},
		{"lengthscale", 1e6, false, Options{Kernel: "rbf", Mean: "zero"}, 1e6, length.Lower, 1e7},
		{"lengthscale", length.Upper, true, Options{Kernel: "rbf", Mean: "zero"}, length.Upper, length.Lower, length.Upper},
	} {
		c.o.Set = []Assignment{{Name: c.name, Value: c.value, Given: true, Found: c.found}}
		p := testcheck.Get(New(d, c.o))(t).Params
		q := p.Free[p.Find(c.name)[0]]
		testcheck.Near(t, fmt.Sprintf("%s=%v found %v", c.name, c.value, c.found), []float64{q.Start, q.Lower, q.Upper}, []float64{c.start, c.lower, c.upper}, 1e-15, 0)
	}
}
