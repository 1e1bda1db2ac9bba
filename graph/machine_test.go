package graph

import (
	"strings"
	"testing"

	"github.com/chewxy/hm"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"gpfit/cpu"
	"gpfit/device"
	"gpfit/internal/testcheck"
	"gpfit/kernel"
	"gpfit/kernel/kerneltest"
	"gpfit/mean"
)

// TestAgainstTapeMachine runs one graph on Gorgonia's machine and on ours.
func TestAgainstTapeMachine(t *testing.T) {
	prog := kerneltest.Program(t, "rbf(ard) + matern32", 2)
	x := kernel.NewPoints([]float64{0, 1, 2, 3, 1, 5, -1, 0, 0.5, 0.25}, 5, 2)
	backend := testcheck.Get(cpu.New(device.Options{}))(t)
	ws := testcheck.Get(backend.NewWorkspace(t.Context(), x))(t)
	defer ws.Close()
	line := testcheck.Get(mean.Parse("linear", nil))(t)
	basis := testcheck.Get(line.Basis(x, nil))(t)
	o := testcheck.Get(Build(ws, Spec{
		Program: prog, X: x, Y: []float64{1, -1, 2, 0, 1}, Mean: basis, MeanFree: true,
		Prior: func(n Nodes) (*gorgonia.Node, error) { return gorgonia.Square(n.Log["noise_variance"]) },
	}))(t)
	z := testcheck.Slice(len(o.Names()), func(i int) float64 { return 0.1 * float64(i) })
	grad := make([]float64, len(z))
	for round := range 3 {
		z[0] = float64(round) / 3
		f := testcheck.Get(o.ValueGradient(t.Context(), z, grad))(t)
		o.solver.formed = false // so that the other machine does the work
		vm := gorgonia.NewTapeMachine(o.graph)
		testcheck.Do(t, vm.RunAll())
		if g, err := scalar(o.cost.Value()); err != nil || g != f {
			t.Errorf("value %v, on Gorgonia's machine %v (%v)", f, g, err)
		}
		for i, v := range o.vars {
			g := testcheck.Get(numbers(o.grads[i].Value()))(t)
			testcheck.Near(t, "gradient by "+v.elements[0], grad[v.offset:v.offset+len(g)], g, 1e-13, 1e-13)
		}
		vm.Close()
	}
}

// panicOp is an op whose Do does not recover from a panic.
type panicOp struct{ op }

func (o *panicOp) Do(...gorgonia.Value) (gorgonia.Value, error) { panic("boom") }

func TestPanicInOp(t *testing.T) {
	g := gorgonia.NewGraph()
	in := gorgonia.NewScalar(g, tensor.Float64, gorgonia.WithName("x"), gorgonia.WithValue(1.0))
	op := &panicOp{op{
		solver: &solver{ctx: t.Context()}, name: "Panic", inputs: []hm.Type{tensor.Float64}, shape: tensor.ScalarShape(),
		do: func([]gorgonia.Value) (gorgonia.Value, error) { panic("bang") },
	}}
	out := testcheck.Get(gorgonia.ApplyOp(op, in))(t)
	m := testcheck.Get(newMachine(g, gorgonia.Nodes{out}))(t)
	if err := m.run(); err == nil || !strings.Contains(err.Error(), "boom") {
		t.Errorf("error %v, want the panic", err)
	}
	// The guard of our own ops.
	if _, err := op.op.Do(gorgonia.NewF64(1)); err == nil {
		t.Error("a panic in an op was lost")
	}
}

// TestHashes checks that two ops that differ only in their arguments or their
// solver have different hashes, and that a collision is detected.
func TestHashes(t *testing.T) {
	a, b := &solver{}, &solver{}
	hash := func(s *solver, name, args string) uint32 { return (&op{solver: s, name: name, args: args}).Hashcode() }
	if hash(a, "Pick", "x") == hash(a, "Pick", "y") || hash(a, "Pick", "x") == hash(b, "Pick", "x") {
		t.Error("equal hashes for different ops")
	}
	g := gorgonia.NewGraph()
	gorgonia.NewScalar(g, tensor.Float64, gorgonia.WithName("x"))
	gorgonia.NewScalar(g, tensor.Float64, gorgonia.WithName("y"))
	if hashesCollide(g) {
		t.Error("collision between x and y")
	}
}

// IdentitySlack returns the deviation of the last gradient from the trace identity,
// in units of the limit; 0 if it was not checked.
func (o *Objective) IdentitySlack() float64 { return o.solver.identity.slack }
