package graph_test

import (
	"context"
	"math"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"
	"gorgonia.org/gorgonia"

	"gpfit/device"
	"gpfit/graph"
	"gpfit/internal/must"
)

func knownNoise(n int) []float64 {
	known := make([]float64, n)
	for i := range known {
		known[i] = 0.05 * float64(i%4)
	}
	return known
}

func groupsOf(n int) []int {
	group := make([]int, n)
	for i := range group {
		group[i] = (i * i) % 5 % 3
	}
	return group
}

var noises = map[string]func(s *graph.Spec){
	"one":   func(*graph.Spec) {},
	"known": func(s *graph.Spec) { s.Noise.Known = knownNoise(s.X.N) },
	"known alone": func(s *graph.Spec) {
		s.Noise = graph.NoiseModel{None: true, Known: knownNoise(s.X.N)}
		for i := range s.Noise.Known {
			s.Noise.Known[i] += 0.02
		}
	},
	"groups": func(s *graph.Spec) {
		s.Noise = graph.NoiseModel{Labels: []string{"a", "b", "c"}, Group: groupsOf(s.X.N)}
	},
	"groups and known": func(s *graph.Spec) {
		s.Noise = graph.NoiseModel{Labels: []string{"a", "b", "c"}, Group: groupsOf(s.X.N), Known: knownNoise(s.X.N)}
	},
	"one group": func(s *graph.Spec) { s.Noise = graph.NoiseModel{Labels: []string{"all"}, Group: make([]int, s.X.N)} },
	"none":      func(s *graph.Spec) { s.Noise = graph.NoiseModel{None: true} },
}

// TestNoise compares gradients with central differences, and values with a dense
// computation whose diagonal is formed row by row.
func TestNoise(t *testing.T) {
	const n = 40
	for name, change := range noises {
		t.Run(name, func(t *testing.T) {
			text := "rbf"
			if name == "none" {
				text = "matern12" // well conditioned without noise
			}
			f := newFixture(t, text, n, 2, func(s *graph.Spec) { change(s); withMean("linear")(s) })
			f.checkGradient(t)
			if name == "none" {
				return
			}
			f = newFixture(t, text, n, 2, change)
			z := f.z(1)
			got := f.value(t, z)
			variance := func(i int) float64 {
				v := 0.0
				if f.spec.Noise.Known != nil {
					v = f.spec.Noise.Known[i]
				}
				switch {
				case f.spec.Noise.Group != nil:
					v += math.Exp(z[2+f.spec.Noise.Group[i]])
				case !f.spec.Noise.None:
					v += math.Exp(z[2])
				}
				return v
			}
			sigma := dense(f, math.Exp(z[0]), math.Exp(z[1]), variance)
			var inv mat.Dense
			must.Do(t, inv.Inverse(sigma))
			y := mat.NewVecDense(n, f.spec.Y)
			logDet, _ := mat.LogDet(sigma)
			want := mat.Inner(y, &inv, y)/2 + logDet/2 + n/2.*math.Log(2*math.Pi)
			if math.Abs(got-want) > 1e-11*math.Abs(want) {
				t.Errorf("NLML %v, want %v", got, want)
			}
		})
	}
}

func TestNoiseNames(t *testing.T) {
	f := newFixture(t, "rbf", 40, 2, noises["groups"])
	if got, want := strings.Join(f.obj.Names(), " "), "lengthscale signal_variance noise_variance[a] noise_variance[b] noise_variance[c]"; got != want {
		t.Errorf("parameters %s, want %s", got, want)
	}
	z := f.z(0)
	f.value(t, z)
	if _, noise, _ := f.obj.Theta(); len(noise) != 3 || noise[1] != math.Exp(z[3]) {
		t.Errorf("noise variances %v", noise)
	}
	if names := newFixture(t, "matern12", 40, 2, noises["none"]).obj.Names(); len(names) != 2 {
		t.Errorf("parameters %v, want no noise", names)
	}
	// With the groups' variances tied to one parameter, the result equals the plain
	// model.
	tied := newFixture(t, "rbf", 40, 2, func(s *graph.Spec) {
		noises["groups"](s)
		s.Derive = map[string]func(graph.Nodes) (*gorgonia.Node, error){
			graph.NoiseVariance: func(n graph.Nodes) (*gorgonia.Node, error) {
				ones := gorgonia.NewVector(n.Natural["signal_variance"].Graph(), gorgonia.Float64, gorgonia.WithShape(3), gorgonia.WithName("ones"), gorgonia.WithInit(gorgonia.Ones()))
				return gorgonia.Mul(ones, n.Natural["signal_variance"])
			},
		}
	})
	tied.checkGradient(t)
	plain := newFixture(t, "rbf", 40, 2, nil)
	z = tied.z(3)
	if v, w := tied.value(t, z), plain.value(t, []float64{z[0], z[1], z[1]}); math.Abs(v-w) > 1e-12*math.Abs(w) {
		t.Errorf("tied groups %v, one variance %v", v, w)
	}
}

func TestNoiseErrors(t *testing.T) {
	for what, change := range map[string]func(s *graph.Spec){
		"short":       func(s *graph.Spec) { s.Noise.Known = []float64{1} },
		"negative":    func(s *graph.Spec) { s.Noise.Known = knownNoise(20); s.Noise.Known[3] = -1 },
		"NaN":         func(s *graph.Spec) { s.Noise.Known = knownNoise(20); s.Noise.Known[3] = math.NaN() },
		"short group": func(s *graph.Spec) { s.Noise = graph.NoiseModel{Labels: []string{"a"}, Group: []int{0}} },
		"label":       func(s *graph.Spec) { s.Noise = graph.NoiseModel{Labels: []string{"a"}, Group: groupsOf(20)} },
		"none": func(s *graph.Spec) {
			s.Noise = graph.NoiseModel{None: true, Labels: []string{"a"}, Group: make([]int, 20)}
		},
	} {
		f := newFixture(t, "rbf", 20, 2, nil)
		change(&f.spec)
		if _, err := graph.Build(f.ws, f.spec); err == nil {
			t.Errorf("%s: accepted", what)
		}
	}
	// Without noise, equal rows make the covariance singular.
	f := newFixture(t, "matern12", 40, 2, func(s *graph.Spec) {
		noises["none"](s)
		for c := range 2 {
			s.X.Column(c)[30] = s.X.Column(c)[2]
		}
	})
	if _, err := f.obj.Value(context.Background(), []float64{0, 0}); !device.IsNotPD(err) {
		t.Errorf("error %v, want a NotPDError", err)
	}
}
