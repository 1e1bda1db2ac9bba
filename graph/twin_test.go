package graph_test

import (
	"errors"
	"fmt"
	"hash"
	"hash/fnv"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/chewxy/hm"
	"gonum.org/v1/gonum/mat"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"gpfit/graph"
	"gpfit/internal/testcheck"
	"gpfit/kernel/symbolic"
)

// tolTwin bounds the difference between the objective and its twin, in value and
// gradient, relative to the sum of the magnitudes of the NLML's three terms.
const tolTwin = 1e-10

// twinKernels are covariance functions as matrices of all pairs, for one or more texts.
var twinKernels = map[string]func(*twin) *gorgonia.Node{
	"rbf | rbf(ard)":           func(w *twin) *gorgonia.Node { return w.scaled("", w.rbf("")) },
	"matern12 | matern12(ard)": func(w *twin) *gorgonia.Node { return w.scaled("", w.matern("", 1, 1)) },
	"matern32 | matern32(ard)": func(w *twin) *gorgonia.Node { return w.scaled("", w.matern("", 3, 1, 1)) },
	"matern52 | matern52(ard)": func(w *twin) *gorgonia.Node { return w.scaled("", w.matern("", 5, 1, 1, 1.0/3)) },
	"rq | rq(ard)":             func(w *twin) *gorgonia.Node { return w.scaled("", w.rq("")) },
	"periodic | periodic(ard)": func(w *twin) *gorgonia.Node { return w.scaled("", w.periodic("")) },
	"cosine":                   func(w *twin) *gorgonia.Node { return w.scaled("", w.cosine("")) },
	"linear":                   func(w *twin) *gorgonia.Node { return w.scaled("", w.inner("")) },
	"linear(ard)":              func(w *twin) *gorgonia.Node { return w.inner("") },
	"poly":                     func(w *twin) *gorgonia.Node { return w.scaled("", w.square(w.affine(""))) },
	"poly(3, ard)":             func(w *twin) *gorgonia.Node { a := w.affine(""); return w.hadamard(w.square(a), a) },
	"constant":                 func(w *twin) *gorgonia.Node { return w.scaled("", w.filled(1)) },
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
	for texts, matrix := range twinKernels {
		for text := range strings.SplitSeq(texts, " | ") {
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
					testcheck.Near(t, "gradient", grad, wantGrad, 0, tol)
				}
			})
		}
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
	symbolic.Building.Lock()
	defer symbolic.Building.Unlock()
	w := &twin{t: t, graph: gorgonia.NewGraph(), names: names, natural: map[string]*gorgonia.Node{}, n: spec.X.N}
	for _, name := range names {
		z := gorgonia.NewF64(0)
		in := gorgonia.NewScalar(w.graph, tensor.Float64, gorgonia.WithName("log "+name), gorgonia.WithValue(z))
		w.logs, w.inputs = append(w.logs, z), append(w.inputs, in)
		w.natural[name] = gorgonia.Must(gorgonia.Exp(in))
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
	fit := gorgonia.Must(gorgonia.Sum(w.hadamard(gorgonia.Must(gorgonia.ApplyOp(denseInverse, sigma)), outer)))
	terms := w.add(fit, gorgonia.Must(gorgonia.ApplyOp(denseLogDet, sigma)))
	w.cost = w.add(w.mul(w.number(0.5), terms), w.number(float64(w.n)/2*math.Log(2*math.Pi)))
	w.grads = testcheck.Get(gorgonia.Grad(w.cost, w.inputs...))(w.t)
}

// gradient evaluates the graph on Gorgonia's machine.
func (w *twin) gradient(z []float64) (float64, []float64) {
	for i, v := range z {
		*w.logs[i] = gorgonia.F64(v)
	}
	symbolic.Building.Lock()
	vm := gorgonia.NewTapeMachine(w.graph)
	symbolic.Building.Unlock()
	defer vm.Close()
	testcheck.Do(w.t, vm.RunAll())
	grad := testcheck.Slice(len(z), func(i int) float64 { return w.grads[i].Value().Data().(float64) })
	return w.cost.Value().Data().(float64), grad
}

func (w *twin) XX(n *gorgonia.Node, err error) *gorgonia.Node {
	if err != nil {
		w.t.Helper()
		w.t.Fatal(err)
	}
	return n
}

// matrix adds a matrix of data.
func (w *twin) matrix(at func(i, j int) float64) *gorgonia.Node {
	x := testcheck.Slice(w.n*w.n, func(i int) float64 { return at(i/w.n, i%w.n) })
	w.numbers++
	return gorgonia.NewMatrix(w.graph, tensor.Float64, gorgonia.WithShape(w.n, w.n), gorgonia.WithName(fmt.Sprint("matrix ", w.numbers)),
		gorgonia.WithValue(tensor.New(tensor.WithShape(w.n, w.n), tensor.WithBacking(x))))
}

func (w *twin) filled(x float64) *gorgonia.Node { return w.matrix(func(int, int) float64 { return x }) }

func (w *twin) identity() *gorgonia.Node {
	return w.matrix(func(i, j int) float64 {
		if i == j {
			return 1
		}
		return 0
	})
}

// number adds an input, because Gorgonia merges constants that print alike.
func (w *twin) number(x float64) *gorgonia.Node {
	w.numbers++
	return gorgonia.NewScalar(w.graph, tensor.Float64, gorgonia.WithName(fmt.Sprint("number ", w.numbers)), gorgonia.WithValue(x))
}

func (w *twin) add(a, b *gorgonia.Node) *gorgonia.Node { return gorgonia.Must(gorgonia.Add(a, b)) }
func (w *twin) sub(a, b *gorgonia.Node) *gorgonia.Node { return gorgonia.Must(gorgonia.Sub(a, b)) }

// mul returns the product of a number and a matrix or number.
func (w *twin) mul(a, b *gorgonia.Node) *gorgonia.Node { return gorgonia.Must(gorgonia.Mul(a, b)) }

func (w *twin) hadamard(a, b *gorgonia.Node) *gorgonia.Node {
	return gorgonia.Must(gorgonia.HadamardProd(a, b))
}
func (w *twin) square(a *gorgonia.Node) *gorgonia.Node  { return gorgonia.Must(gorgonia.Square(a)) }
func (w *twin) inverse(a *gorgonia.Node) *gorgonia.Node { return gorgonia.Must(gorgonia.Inverse(a)) }
func (w *twin) exp(a *gorgonia.Node) *gorgonia.Node     { return gorgonia.Must(gorgonia.Exp(a)) }

// parameter returns the parameter of a column or of all columns, or nil.
func (w *twin) parameter(name string, column int) *gorgonia.Node {
	if n := w.natural[name+"["+strconv.Itoa(column)+"]"]; n != nil {
		return n
	}
	return w.natural[name]
}

// sum adds a term for each column.
func (w *twin) sum(term func(c int) *gorgonia.Node) *gorgonia.Node {
	out := term(0)
	for c := 1; c < len(w.differences); c++ {
		out = w.add(out, term(c))
	}
	return out
}

// scaled is a kernel with its signal variance.
func (w *twin) scaled(prefix string, k *gorgonia.Node) *gorgonia.Node {
	return w.mul(w.natural[prefix+"signal_variance"], k)
}

// squares returns Σ Δ_c²/ρ_c².
func (w *twin) squares(prefix string) *gorgonia.Node {
	return w.sum(func(c int) *gorgonia.Node {
		return w.mul(w.inverse(w.square(w.parameter(prefix+"lengthscale", c))), w.square(w.differences[c]))
	})
}

func (w *twin) rbf(prefix string) *gorgonia.Node {
	return w.exp(w.mul(w.number(-0.5), w.squares(prefix)))
}

// matern returns (Σ_k poly_k t^k)·exp(−t), t = √(factor·r²). The root has no derivative on the
// diagonal, where r is always 0; there it takes the root of 1 and subtracts 1.
func (w *twin) matern(prefix string, factor float64, poly ...float64) *gorgonia.Node {
	unit := w.identity()
	t := w.sub(gorgonia.Must(gorgonia.Sqrt(w.add(w.mul(w.number(factor), w.squares(prefix)), unit))), unit)
	sum, power := w.filled(poly[0]), t
	for _, c := range poly[1:] {
		sum, power = w.add(sum, w.mul(w.number(c), power)), w.hadamard(power, t)
	}
	return w.hadamard(sum, w.exp(gorgonia.Must(gorgonia.Neg(t))))
}

// rq is exp(−α log(1 + r²/(2α))).
func (w *twin) rq(prefix string) *gorgonia.Node {
	a := w.natural[prefix+"alpha"]
	base := w.add(w.filled(1), w.mul(w.inverse(w.mul(w.number(2), a)), w.squares(prefix)))
	return w.exp(gorgonia.Must(gorgonia.Neg(w.mul(a, gorgonia.Must(gorgonia.Log(base))))))
}

func (w *twin) periodic(prefix string) *gorgonia.Node {
	return w.exp(w.mul(w.number(-2), w.sum(func(c int) *gorgonia.Node {
		phase := w.mul(w.inverse(w.parameter(prefix+"period", c)), w.mul(w.number(math.Pi), w.differences[c]))
		return w.mul(w.inverse(w.square(w.parameter(prefix+"lengthscale", c))), w.square(gorgonia.Must(gorgonia.Sin(phase))))
	})))
}

func (w *twin) cosine(prefix string) *gorgonia.Node {
	return gorgonia.Must(gorgonia.Cos(w.sum(func(c int) *gorgonia.Node {
		return w.mul(w.inverse(w.parameter(prefix+"period", c)), w.mul(w.number(2*math.Pi), w.differences[c]))
	})))
}

// inner returns Σ x_c x'_c/ρ_c², without ρ if there is none.
func (w *twin) inner(prefix string) *gorgonia.Node {
	return w.sum(func(c int) *gorgonia.Node {
		if rho := w.parameter(prefix+"lengthscale", c); rho != nil {
			return w.mul(w.inverse(w.square(rho)), w.products[c])
		}
		return w.products[c]
	})
}

// affine is offset + inner.
func (w *twin) affine(prefix string) *gorgonia.Node {
	return w.add(w.mul(w.natural[prefix+"offset"], w.filled(1)), w.inner(prefix))
}

// denseOp is an op on a symmetric positive definite n×n tensor.
type denseOp struct {
	name   string
	scalar bool
	do     func(*mat.Cholesky, []float64) (gorgonia.Value, error)
	// diff returns the adjoint of the operand from the op's result and the adjoint of the result.
	diff func(operand, result, adjoint *gorgonia.Node) (*gorgonia.Node, error)
}

// denseInverse is Σ⁻¹. From ∂(X⁻¹) = −X⁻¹(∂X)X⁻¹ (Petersen & Pedersen, The Matrix
// Cookbook, 2012, eq. 40) it follows that if X⁻¹ has the adjoint G, X has the
// adjoint −X⁻ᵀGX⁻ᵀ; here X is symmetric.
var denseInverse = &denseOp{
	name: "inverse",
	do: func(c *mat.Cholesky, out []float64) (gorgonia.Value, error) {
		n := c.SymmetricDim()
		var inverse mat.SymDense
		if err := c.InverseTo(&inverse); err != nil {
			return nil, err
		}
		mat.NewDense(n, n, out).Copy(&inverse)
		return tensor.New(tensor.WithShape(n, n), tensor.WithBacking(out)), nil
	},
	diff: func(_, result, adjoint *gorgonia.Node) (*gorgonia.Node, error) {
		right, err := gorgonia.Mul(adjoint, result)
		if err == nil {
			right, err = gorgonia.Mul(result, right)
		}
		if err != nil {
			return nil, err
		}
		return gorgonia.Neg(right)
	},
}

// denseLogDet is log|Σ|. From ∂ log|X| = tr(X⁻¹∂X) (eq. 43) it follows that X has the adjoint gX⁻ᵀ.
var denseLogDet *denseOp

func init() { // its derivative refers to the other op
	denseLogDet = &denseOp{
		name: "log det", scalar: true,
		do: func(c *mat.Cholesky, _ []float64) (gorgonia.Value, error) { return gorgonia.NewF64(c.LogDet()), nil },
		diff: func(operand, _, adjoint *gorgonia.Node) (*gorgonia.Node, error) {
			inverse, err := gorgonia.ApplyOp(denseInverse, operand)
			if err != nil {
				return nil, err
			}
			return gorgonia.Mul(adjoint, inverse)
		},
	}
}

func (o *denseOp) Arity() int { return 1 }

func (o *denseOp) Type() hm.Type {
	matrix := gorgonia.TensorType{Dims: 2, Of: tensor.Float64}
	if o.scalar {
		return hm.NewFnType(matrix, tensor.Float64)
	}
	return hm.NewFnType(matrix, matrix)
}

func (o *denseOp) InferShape(in ...gorgonia.DimSizer) (tensor.Shape, error) {
	if o.scalar {
		return tensor.ScalarShape(), nil
	}
	return in[0].(tensor.Shape).Clone(), nil
}

func (o *denseOp) Do(in ...gorgonia.Value) (gorgonia.Value, error) {
	x := append([]float64(nil), in[0].Data().([]float64)...)
	n := in[0].Shape()[0]
	var c mat.Cholesky
	if !c.Factorize(mat.NewSymDense(n, x)) {
		return nil, errors.New("not positive definite")
	}
	return o.do(&c, make([]float64, n*n))
}

func (o *denseOp) ReturnsPtr() bool      { return false }
func (o *denseOp) CallsExtern() bool     { return false }
func (o *denseOp) OverwritesInput() int  { return -1 }
func (o *denseOp) String() string        { return o.name }
func (o *denseOp) WriteHash(h hash.Hash) { fmt.Fprint(h, "dense ", o.name) }

func (o *denseOp) Hashcode() uint32 {
	h := fnv.New32a()
	o.WriteHash(h)
	return h.Sum32()
}

func (o *denseOp) DiffWRT(int) []bool { return []bool{true} }

func (o *denseOp) SymDiff(in gorgonia.Nodes, out, adjoint *gorgonia.Node) (gorgonia.Nodes, error) {
	d, err := o.diff(in[0], out, adjoint)
	return gorgonia.Nodes{d}, err
}
