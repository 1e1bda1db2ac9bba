package graph_test

import (
	"math"
	"strings"
	"testing"

	"gorgonia.org/gorgonia"

	"gpfit/graph"
)

// TestTied checks that ties of whole parameters and of elements give the same value
// as equal numbers without ties, and the gradient of central differences.
func TestTied(t *testing.T) {
	for _, c := range []struct {
		name, kernel string
		ties         map[string]string
		names        string
	}{
		{"scalars", "rbf + matern32", map[string]string{"k2.lengthscale": "k1.lengthscale", "noise_variance": "k1.signal_variance"},
			"k1.lengthscale k1.signal_variance k2.signal_variance"},
		{"vectors", "rbf(ard) + matern32(ard)", map[string]string{"k2.lengthscale": "k1.lengthscale"},
			"k1.lengthscale[0] k1.lengthscale[1] k1.lengthscale[2] k1.signal_variance k2.signal_variance noise_variance"},
		{"an element of the same vector", "rbf(ard)", map[string]string{"lengthscale[2]": "lengthscale[0]"},
			"lengthscale[0] lengthscale[1] signal_variance noise_variance"},
		{"one free element", "rbf(ard)", map[string]string{"lengthscale[0]": "lengthscale[1]", "lengthscale[2]": "lengthscale[1]"},
			"lengthscale[1] signal_variance noise_variance"},
		{"all elements, one by one", "rbf(ard) + matern12", map[string]string{"k1.lengthscale[0]": "k2.lengthscale", "k1.lengthscale[1]": "k2.signal_variance", "k1.lengthscale[2]": "k2.lengthscale"},
			"k1.signal_variance k2.lengthscale k2.signal_variance noise_variance"},
		{"a scalar to an element", "rbf(ard) + matern12", map[string]string{"k2.lengthscale": "k1.lengthscale[1]"},
			"k1.lengthscale[0] k1.lengthscale[1] k1.lengthscale[2] k1.signal_variance k2.signal_variance noise_variance"},
		{"elements between partly tied vectors", "rbf(ard) + matern12(ard)", map[string]string{"k1.lengthscale[0]": "k2.lengthscale[1]", "k2.lengthscale[0]": "k1.lengthscale[2]"},
			"k1.lengthscale[1] k1.lengthscale[2] k1.signal_variance k2.lengthscale[1] k2.lengthscale[2] k2.signal_variance noise_variance"},
		{"a vector of one", "rbf(ard, dims=0) + matern12(ard, dims=1)", map[string]string{"k2.lengthscale[1]": "k1.lengthscale[0]"},
			"k1.lengthscale[0] k1.signal_variance k2.signal_variance noise_variance"},
	} {
		t.Run(c.name, func(t *testing.T) {
			derive := map[string]func(graph.Nodes) (*gorgonia.Node, error){}
			for name, source := range c.ties {
				derive[name] = graph.Tied(source)
			}
			f := newFixture(t, c.kernel, 25, 3, func(s *graph.Spec) {
				freeMean("constant")(s)
				s.Derive = derive
				s.Prior = graph.NegLogPrior(map[string]graph.Prior{strings.Fields(c.names)[0]: mustPrior(t, "gamma(2, 1)")})
			})
			if got := strings.Join(f.obj.Names(), " "); got != c.names+" mean_constant" {
				t.Fatalf("free parameters %s", got)
			}
			f.checkGradient(t)
			z := f.z(3)
			f.value(t, z)
			at := map[string]float64{}
			for i, name := range f.obj.Names() {
				at[name] = z[i]
			}
			plain := newFixture(t, c.kernel, 25, 3, freeMean("constant"))
			full := make([]float64, len(plain.obj.Names()))
			for i, name := range plain.obj.Names() {
				source := name
				if s, ok := c.ties[name]; ok {
					source = s
				} else if group, index, ok := strings.Cut(name, "["); ok && c.ties[group] != "" {
					source = c.ties[group] + "[" + index
				}
				full[i] = at[source]
			}
			if a, b := f.obj.Terms().NLML(), plain.value(t, full); math.Abs(a-b) > 1e-12*math.Abs(b) {
				t.Errorf("NLML %v with ties, %v with the same numbers", a, b)
			}
		})
	}
}

func TestTiedErrors(t *testing.T) {
	for what, ties := range map[string]map[string]string{
		"unknown source":        {"lengthscale[0]": "x"},
		"unknown element":       {"lengthscale[7]": "lengthscale[0]"},
		"source derived itself": {"lengthscale[0]": "lengthscale[1]", "lengthscale[1]": "lengthscale[0]"},
		"vector for an element": {"lengthscale[0]": "k2.lengthscale"},
	} {
		f := newFixture(t, "rbf(ard)", 10, 3, nil)
		spec := f.spec
		spec.Derive = map[string]func(graph.Nodes) (*gorgonia.Node, error){}
		for name, source := range ties {
			spec.Derive[name] = graph.Tied(source)
		}
		if what == "vector for an element" {
			spec.Derive["lengthscale[0]"] = func(n graph.Nodes) (*gorgonia.Node, error) { return n.Log["lengthscale"], nil }
		}
		if _, err := graph.Build(f.ws, spec); err == nil {
			t.Errorf("%s accepted", what)
		}
	}
}
