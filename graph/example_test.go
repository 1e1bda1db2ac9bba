package graph_test

import (
	"context"
	"fmt"
	"log"

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
	check(err)
	backend, err := cpu.New(device.Options{})
	check(err)
	ctx, x := context.Background(), kernel.NewPoints([]float64{0, 1, 2, 3}, 4, 1)
	ws, err := backend.NewWorkspace(ctx, x)
	check(err)
	defer ws.Close()
	objective, err := graph.Build(ws, graph.Spec{
		Program: prog, X: x, Y: []float64{0, 1, 0, -1},
		Derive: map[string]func(graph.Nodes) (*gorgonia.Node, error){"k2.lengthscale": tenfold},
		Prior:  together,
	})
	check(err)
	grad := make([]float64, len(objective.Names()))
	value, err := objective.ValueGradient(ctx, []float64{0, 1, 0, -1}, grad)
	check(err)
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
	difference := gorgonia.Must(gorgonia.Sub(n.Log["k1.signal_variance"], n.Log["k2.signal_variance"]))
	half := gorgonia.NewScalar(difference.Graph(), tensor.Float64, gorgonia.WithName("half"), gorgonia.WithValue(0.5))
	return gorgonia.Mul(half, gorgonia.Must(gorgonia.Square(difference)))
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
