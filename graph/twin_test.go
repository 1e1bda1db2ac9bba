package graph_test

import (
	"math"
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"gpfit/graph"
	"gpfit/internal/pair"
)

// tolTwin bounds the difference between the objective and its twin, in value and
// gradient, relative to the sum of the magnitudes of the NLML's three terms.
const tolTwin = 1e-10

// twinKernels are covariance functions, written as matrices of all pairs.
var twinKernels = map[string]func(*twin) *gorgonia.Node{
	"rbf":           func(w *twin) *gorgonia.Node { return w.scaled("", w.rbf("")) },
	"rbf(ard)":      func(w *twin) *gorgonia.Node { return w.scaled("", w.rbf("")) },
	"matern12":      func(w *twin) *gorgonia.Node { return w.scaled("", w.matern("", 1, 1)) },
	"matern12(ard)": func(w *twin) *gorgonia.Node { return w.scaled("", w.matern("", 1, 1)) },
	"matern32":      func(w *twin) *gorgonia.Node { return w.scaled("", w.matern("", 3, 1, 1)) },
	"matern32(ard)": func(w *twin) *gorgonia.Node { return w.scaled("", w.matern("", 3, 1, 1)) },
	"matern52":      func(w *twin) *gorgonia.Node { return w.scaled("", w.matern("", 5, 1, 1, 1.0/3)) },
	"matern52(ard)": func(w *twin) *gorgonia.Node { return w.scaled("", w.matern("", 5, 1, 1, 1.0/3)) },
	"rq":            func(w *twin) *gorgonia.Node { return w.scaled("", w.rq("")) },
	"rq(ard)":       func(w *twin) *gorgonia.Node { return w.scaled("", w.rq("")) },
	"periodic":      func(w *twin) *gorgonia.Node { return w.scaled("", w.periodic("")) },
	"periodic(ard)": func(w *twin) *gorgonia.Node { return w.scaled("", w.periodic("")) },
	"cosine":        func(w *twin) *gorgonia.Node { return w.scaled("", w.cosine("")) },
	"linear":        func(w *twin) *gorgonia.Node { return w.scaled("", w.inner("")) },
	"linear(ard)":   func(w *twin) *gorgonia.Node { return w.inner("") },
	"poly":          func(w *twin) *gorgonia.Node { return w.scaled("", w.square(w.affine(""))) },
	"poly(3, ard)":  func(w *twin) *gorgonia.Node { a := w.affine(""); return w.hadamard(w.square(a), a) },
	"constant":      func(w *twin) *gorgonia.Node { return w.scaled("", w.filled(1)) },
	"rbf(ard) + matern32 + periodic": func(w *twin) *gorgonia.Node {
		return w.add(w.add(w.scaled("k1.", w.rbf("k1.")), w.scaled("k2.", w.matern("k2.", 3, 1, 1))), w.scaled("k3.", w.periodic("k3.")))
	},
	"rbf*matern52(ard)*rq": func(w *twin) *gorgonia.Node {
		return w.scaled("", w.hadamard(w.hadamard(w.rbf("k1."), w.matern("k2.", 5, 1, 1, 1.0/3)), w.rq("k3.")))
	},
	"linear*periodic + rbf": func(w *twin) *gorgonia.Node {
		return w.add(w.scaled("k1.", w.hadamard(w.inner("k1.k1."), w.periodic("k1.k2."))), w.scaled("k2.", w.rbf("k2.")))
	},
	"(matern12 + linear)*cosine": func(w *twin) *gorgonia.Node {
		return w.hadamard(w.add(w.scaled("k1.k1.", w.matern("k1.k1.", 1, 1)), w.scaled("k1.k2.", w.inner("k1.k2."))), w.cosine("k2."))
	},
}

// TestTwin compares the objective with an objective of plain nodes on dense
// matrices that Gorgonia's own machine runs.
func TestTwin(t *testing.T) {
	n := 60
	if testing.Short() {
		n = 20
	}
	for text, matrix := range twinKernels {
		t.Run(text, func(t *testing.T) {
			f := newFixture(t, text, n, 3, nil)
			w := newTwin(t, f.spec, f.obj.Names(), matrix)
			for seed := range uint64(2) {
				z := f.z(seed)
				want, wantGrad := w.gradient(z)
				got, grad := f.gradient(t, z)
				terms := f.obj.Terms()
				tol := tolTwin * (terms.DataFit + math.Abs(terms.Complexity) + terms.Constant)
				if alone := f.value(t, z); !(math.Abs(got-want) <= tol) || alone != got {
					t.Errorf("value %v with gradient, %v alone; on dense matrices %v", got, alone, want)
				}
				for i, name := range f.obj.Names() {
					if !(math.Abs(grad[i]-wantGrad[i]) <= tol) {
						t.Errorf("∂/∂ log %s = %v, on dense matrices %v", name, grad[i], wantGrad[i])
					}
				}
			}
		})
	}
}

// twin is an objective of n×n nodes.
type twin struct {
	t     *testing.T
	graph *gorgonia.ExprGraph
	// differences and products are Δ_c and x_c x'_c of every column c.
	differences, products []*gorgonia.Node
	names                 []string
	logs                  []*gorgonia.F64
	inputs                gorgonia.Nodes
	natural               map[string]*gorgonia.Node
	cost                  *gorgonia.Node
	grads                 gorgonia.Nodes
	n, numbers            int
}

func newTwin(t *testing.T, spec graph.Spec, names []string, covariance func(*twin) *gorgonia.Node) *twin {
	pair.Building.Lock()
	defer pair.Building.Unlock()
	w := &twin{t: t, graph: gorgonia.NewGraph(), names: names, natural: map[string]*gorgonia.Node{}, n: spec.X.N}
	for _, name := range names {
		z := gorgonia.NewF64(0)
		in := gorgonia.NewScalar(w.graph, tensor.Float64, gorgonia.WithName("log "+name), gorgonia.WithValue(z))
		w.logs, w.inputs = append(w.logs, z), append(w.inputs, in)
		w.natural[name] = w.must(gorgonia.Exp(in))
	}
	for c := range spec.X.D {
		x := spec.X.Column(c)
		w.differences = append(w.differences, w.matrix(func(i, j int) float64 { return x[i] - x[j] }))
		w.products = append(w.products, w.matrix(func(i, j int) float64 { return x[i] * x[j] }))
	}
	w.finish(covariance(w), spec.Y)
	return w
}

// finish adds the noise and the likelihood and differentiates
//
//	½ yᵀΣ⁻¹y + ½ log|Σ| + ½ n log 2π
func (w *twin) finish(k *gorgonia.Node, y []float64) {
	sigma := w.add(k, w.mul(w.natural[graph.NoiseVariance], w.identity()))
	outer := w.matrix(func(i, j int) float64 { return y[i] * y[j] })
	fit := w.must(gorgonia.Sum(w.hadamard(w.must(gorgonia.ApplyOp(denseInverse, sigma)), outer)))
	terms := w.add(fit, w.must(gorgonia.ApplyOp(denseLogDet, sigma)))
	w.cost = w.add(w.mul(w.number(0.5), terms), w.number(float64(w.n)/2*math.Log(2*math.Pi)))
	var err error
	if w.grads, err = gorgonia.Grad(w.cost, w.inputs...); err != nil {
		w.t.Fatal(err)
	}
}

// gradient evaluates the graph on Gorgonia's machine.
func (w *twin) gradient(z []float64) (float64, []float64) {
	for i, v := range z {
		*w.logs[i] = gorgonia.F64(v)
	}
	pair.Building.Lock()
	vm := gorgonia.NewTapeMachine(w.graph)
	pair.Building.Unlock()
	defer vm.Close()
	if err := vm.RunAll(); err != nil {
		w.t.Fatal(err)
	}
	grad := make([]float64, len(z))
	for i, g := range w.grads {
		grad[i] = g.Value().Data().(float64)
	}
	return w.cost.Value().Data().(float64), grad
}

func (w *twin) must(n *gorgonia.Node, err error) *gorgonia.Node {
	if err != nil {
		w.t.Helper()
		w.t.Fatal(err)
	}
	return n
}
