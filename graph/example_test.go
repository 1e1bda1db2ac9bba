package graph_test

import (
	"context"
	"fmt"
	"log"
	"math"

	"gonum.org/v1/gonum/mat"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"gpfit/cpu"
	"gpfit/device"
	"gpfit/graph"
	"gpfit/kernel"
)

// A custom prior and a custom tie are plain nodes, which Gorgonia differentiates
// with the rest. Here the second lengthscale is ten times the first, and a penalty
// ½(log v₁ − log v₂)² in the objective pulls the signal variances together.
func Example() {
	prog, err := kernel.CompileText("rbf + rbf", 1)
	if err != nil {
		log.Fatal(err)
	}
	backend, err := cpu.New(device.Options{})
	if err != nil {
		log.Fatal(err)
	}
	ctx, x := context.Background(), kernel.NewPoints([]float64{0, 1, 2, 3}, 4, 1)
	ws, err := backend.NewWorkspace(ctx, x)
	if err != nil {
		log.Fatal(err)
	}
	defer ws.Close()
	objective, err := graph.Build(ws, graph.Spec{
		Program: prog, X: x, Y: []float64{0, 1, 0, -1},
		Derive: map[string]func(graph.Nodes) (*gorgonia.Node, error){"k2.lengthscale": tenfold},
		Prior:  together,
	})
	if err != nil {
		log.Fatal(err)
	}
	grad := make([]float64, len(objective.Names()))
	value, err := objective.ValueGradient(ctx, []float64{0, 1, 0, -1}, grad)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("objective %.4f, of which prior %.4f\n", value, objective.Terms().NegLogPrior)
	for i, name := range objective.Names() {
		fmt.Printf("derivative by log %s: %.4f\n", name, grad[i])
	}
	theta, _, _ := objective.Theta()
	fmt.Println("lengthscales", theta[0], theta[2])
	// Output:
	// objective 6.5864, of which prior 0.5000
	// derivative by log k1.lengthscale: -0.9776
	// derivative by log k1.signal_variance: 2.0193
	// derivative by log k2.signal_variance: -0.7908
	// derivative by log noise_variance: 0.3251
	// lengthscales 1 10
}

func tenfold(n graph.Nodes) (*gorgonia.Node, error) {
	first := n.Natural["k1.lengthscale"]
	ten := gorgonia.NewScalar(first.Graph(), tensor.Float64, gorgonia.WithName("ten"), gorgonia.WithValue(10.0))
	return gorgonia.Mul(ten, first)
}

func together(n graph.Nodes) (*gorgonia.Node, error) {
	difference, err := gorgonia.Sub(n.Log["k1.signal_variance"], n.Log["k2.signal_variance"])
	if err != nil {
		return nil, err
	}
	half := gorgonia.NewScalar(difference.Graph(), tensor.Float64, gorgonia.WithName("half"), gorgonia.WithValue(0.5))
	square, err := gorgonia.Square(difference)
	if err != nil {
		return nil, err
	}
	return gorgonia.Mul(half, square)
}

// A reference kernel in plain Gorgonia nodes: an rbf matrix of 100 points as a function
// of three logarithms. With A = ∂NLML/∂Σ = ½(Σ⁻¹ − ααᵀ), α = Σ⁻¹y, held constant, the
// symbolic gradient of ΣᵢⱼAᵢⱼΣᵢⱼ equals the gradient of the NLML, which the objective's
// own op computes without a second matrix.
func ExampleObjective_reference() {
	const n = 100
	rows, y := make([]float64, n), make([]float64, n)
	for i := range rows {
		rows[i] = 6 * float64(i) / n
		y[i] = math.Sin(rows[i]) + 0.2*math.Cos(9*float64(i))
	}
	z := []float64{math.Log(0.7), math.Log(1.3), math.Log(0.1)}
	value, gradient := fusedGradient(rows, y, z)
	reference, want := referenceGradient(rows, y, z)
	fmt.Printf("value %.4f, reference %.4f\n", value, reference)
	for i, name := range []string{"lengthscale", "signal_variance", "noise_variance"} {
		fmt.Printf("derivative by log %s: %.4f, reference %.4f\n", name, gradient[i], want[i])
	}
	// Output:
	// value 8.6825, reference 8.6825
	// derivative by log lengthscale: -14.3993, reference -14.3993
	// derivative by log signal_variance: 4.3322, reference 4.3322
	// derivative by log noise_variance: 34.7229, reference 34.7229
}

// fusedGradient is the objective of package graph.
func fusedGradient(rows, y, z []float64) (float64, []float64) {
	prog, err := kernel.CompileText("rbf", 1)
	check(err)
	backend, err := cpu.New(device.Options{})
	check(err)
	ctx, x := context.Background(), kernel.NewPoints(rows, len(rows), 1)
	ws, err := backend.NewWorkspace(ctx, x)
	check(err)
	defer ws.Close()
	objective, err := graph.Build(ws, graph.Spec{Program: prog, X: x, Y: y})
	check(err)
	gradient := make([]float64, len(z))
	value, err := objective.ValueGradient(ctx, z, gradient)
	check(err)
	return value, gradient
}

// referenceGradient is the same of plain nodes and gonum's factor.
func referenceGradient(rows, y, z []float64) (float64, []float64) {
	n := len(rows)
	g := gorgonia.NewGraph()
	number := func(name string, v float64) *gorgonia.Node {
		return gorgonia.NewScalar(g, tensor.Float64, gorgonia.WithName(name), gorgonia.WithValue(v))
	}
	matrix := func(name string, values []float64) *gorgonia.Node {
		return gorgonia.NewMatrix(g, tensor.Float64, gorgonia.WithShape(n, n), gorgonia.WithName(name),
			gorgonia.WithValue(tensor.New(tensor.WithShape(n, n), tensor.WithBacking(values))))
	}
	squares, unit, adjoint := make([]float64, n*n), make([]float64, n*n), make([]float64, n*n)
	for i := range n {
		unit[i*n+i] = 1
		for j := range n {
			squares[i*n+j] = (rows[i] - rows[j]) * (rows[i] - rows[j])
		}
	}
	logs := gorgonia.Nodes{number("log lengthscale", z[0]), number("log signal_variance", z[1]), number("log noise_variance", z[2])}
	precision := gorgonia.Must(gorgonia.Exp(gorgonia.Must(gorgonia.Mul(number("-2", -2), logs[0]))))
	exponent := gorgonia.Must(gorgonia.Mul(gorgonia.Must(gorgonia.Mul(number("-1/2", -0.5), precision)), matrix("squared distances", squares)))
	k := gorgonia.Must(gorgonia.Mul(gorgonia.Must(gorgonia.Exp(logs[1])), gorgonia.Must(gorgonia.Exp(exponent))))
	noise := gorgonia.Must(gorgonia.Mul(gorgonia.Must(gorgonia.Exp(logs[2])), matrix("unit", unit)))
	sigma := gorgonia.Must(gorgonia.Add(k, noise))
	cost := gorgonia.Must(gorgonia.Sum(gorgonia.Must(gorgonia.HadamardProd(matrix("adjoint", adjoint), sigma))))
	grads, err := gorgonia.Grad(cost, logs...)
	check(err)
	var sigmaValue gorgonia.Value
	gorgonia.Read(sigma, &sigmaValue)
	vm := gorgonia.NewTapeMachine(g)
	defer vm.Close()
	check(vm.RunAll())
	value := fillAdjoint(adjoint, sigmaValue.Data().([]float64), y)
	vm.Reset()
	check(vm.RunAll())
	out := make([]float64, len(z))
	for i, node := range grads {
		out[i] = node.Value().Data().(float64)
	}
	return value, out
}

// fillAdjoint computes ½(Σ⁻¹ − ααᵀ) and returns the NLML.
func fillAdjoint(adjoint, sigma, y []float64) float64 {
	n := len(y)
	var factor mat.Cholesky
	if !factor.Factorize(mat.NewSymDense(n, append([]float64(nil), sigma...))) {
		log.Fatal("not positive definite")
	}
	var inverse mat.SymDense
	check(factor.InverseTo(&inverse))
	var alpha mat.VecDense
	check(factor.SolveVecTo(&alpha, mat.NewVecDense(n, y)))
	for i := range n {
		for j := range n {
			adjoint[i*n+j] = 0.5 * (inverse.At(i, j) - alpha.AtVec(i)*alpha.AtVec(j))
		}
	}
	return 0.5*mat.Dot(&alpha, mat.NewVecDense(n, y)) + 0.5*factor.LogDet() + 0.5*float64(n)*math.Log(2*math.Pi)
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
