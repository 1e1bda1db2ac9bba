package graph

import (
	"errors"
	"fmt"
	"maps"
	"strings"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"gpfit/device"
	"gpfit/internal/pair"
)

// maxSalts bounds the attempts to build a graph without hash collisions. A
// collision among a hundred nodes has odds of about 1 in a million.
const maxSalts = 8

// Build compiles the objective of spec on the workspace ws, which must hold the
// points spec.X. From then on, only the objective may call the workspace. Build
// holds the lock [pair.Building], so no kernel can be compiled meanwhile; Derive
// and Prior must not compile one.
func Build(ws device.Workspace, spec Spec) (*Objective, error) {
	n := ws.N()
	if spec.X.N != n || len(spec.Y) == 0 || len(spec.Y)%n != 0 || spec.X.D != spec.Program.D {
		return nil, fmt.Errorf("graph: workspace for %d points, %d points of %d columns, %d targets, kernel for %d columns",
			n, spec.X.N, spec.X.D, len(spec.Y), spec.Program.D)
	}
	for i, v := range spec.Y {
		if v-v != 0 {
			return nil, &device.NonFiniteError{What: "target", Row: i % n, Col: -1}
		}
	}
	if spec.MeanFree && len(spec.Y) > n {
		return nil, errors.New("graph: coefficients of the mean can be parameters only for a single target")
	}
	if err := spec.Noise.check(n); err != nil {
		return nil, err
	}
	if err := checkFolds(spec.Folds, n); err != nil {
		return nil, err
	}
	pair.Building.Lock()
	defer pair.Building.Unlock()
	for salt := range uint64(maxSalts) {
		b := &builder{spec: spec, graph: gorgonia.NewGraph(), solver: newSolver(ws, spec)}
		b.solver.salt = salt
		o, err := b.build()
		if err != nil || !hashesCollide(b.graph) {
			return o, err
		}
	}
	return nil, errors.New("graph: every attempt gave nodes with equal hashes: please report the kernel expression")
}

// hashesCollide reports whether two nodes have the same hash; the compiler would
// treat them as one.
func hashesCollide(g *gorgonia.ExprGraph) bool {
	seen := map[uint32]bool{}
	for _, node := range g.AllNodes() {
		h := node.Hashcode()
		if seen[h] {
			return true
		}
		seen[h] = true
	}
	return false
}

func (b *builder) build() (*Objective, error) {
	b.nodes = Nodes{Log: map[string]*gorgonia.Node{}, Natural: map[string]*gorgonia.Node{}, graph: b.graph, inputName: b.inputName}
	for _, p := range b.spec.Program.Params {
		if err := b.positive(p.Name, p.ElementNames()); err != nil {
			return nil, err
		}
	}
	if names := b.spec.Noise.names(); len(names) > 0 {
		if err := b.positive(NoiseVariance, names); err != nil {
			return nil, err
		}
	}
	residual, fixed, err := b.residual()
	if err != nil {
		return nil, err
	}
	if err := b.derive(); err != nil {
		return nil, err
	}
	cost, err := b.cost(residual, fixed)
	if err != nil {
		return nil, err
	}
	return newObjective(b, cost)
}

// positive adds a positive parameter, or those of its elements that are not derived
// from others, as exp of its logarithm.
func (b *builder) positive(name string, elements []string) error {
	free := b.free(name, elements)
	if len(free) == 0 {
		return nil
	}
	natural, err := gorgonia.Exp(b.variable(name, "log "+name, free, true))
	b.nodes.Natural[name] = natural
	b.vars[len(b.vars)-1].natural = natural
	return err
}

// derive adds the parameters that are functions of others.
func (b *builder) derive() error {
	b.nodes.vars = b.vars
	free := b.nodes
	free.Natural = maps.Clone(b.nodes.Natural)
	for name := range free.Natural {
		if b.partly(name) {
			delete(free.Natural, name)
		}
	}
	used := 0
	add := func(name string, elements []string) error {
		size := len(elements)
		f := b.spec.Derive[name]
		if f == nil {
			derived, err := b.deriveElements(free, name, elements)
			used += derived
			return err
		}
		used++
		node, err := f(free)
		if err != nil {
			return fmt.Errorf("graph: derivation of %s: %w", name, err)
		}
		if !node.Shape().Eq(numberShape(size)) {
			return fmt.Errorf("graph: derivation of %s has shape %v, needs %v", name, node.Shape(), numberShape(size))
		}
		b.nodes.Natural[name] = node
		return nil
	}
	for _, p := range b.spec.Program.Params {
		if err := add(p.Name, p.ElementNames()); err != nil {
			return err
		}
	}
	if names := b.spec.Noise.names(); len(names) > 0 {
		if err := add(NoiseVariance, names); err != nil {
			return err
		}
	}
	if used != len(b.spec.Derive) {
		var names []string
		for name := range b.spec.Derive {
			if b.nodes.Natural[name] == nil {
				names = append(names, name)
			}
		}
		return fmt.Errorf("graph: derivation of unknown parameters: %s", strings.Join(names, ", "))
	}
	return nil
}

// cost applies the fused ops and adds the prior.
func (b *builder) cost(residual *gorgonia.Node, fixed bool) (*gorgonia.Node, error) {
	s := b.solver
	points := &pointsHandle{handle{solver: s, rows: b.spec.X.N, cols: b.spec.X.D}}
	children := gorgonia.Nodes{gorgonia.NewMatrix(b.graph, tensor.Float64, gorgonia.WithShape(b.spec.X.N, b.spec.X.D), gorgonia.WithName(b.inputName("X")), gorgonia.WithValue(points))}
	for _, p := range b.spec.Program.Params {
		children = append(children, b.nodes.Natural[p.Name])
	}
	k, err := gorgonia.ApplyOp(newKernelOp(s), children...)
	if err != nil {
		return nil, err
	}
	diagonal := gorgonia.Nodes{k}
	if noise := b.nodes.Natural[NoiseVariance]; noise != nil {
		diagonal = append(diagonal, noise)
	}
	sigma, err := gorgonia.ApplyOp(newAddNoiseOp(s, b.spec.Noise), diagonal...)
	if err != nil {
		return nil, err
	}
	var likelihood gorgonia.Op = newNLMLOp(s, fixed)
	if b.spec.LeaveOneOut {
		likelihood = newLOOOp(s, fixed)
	}
	cost, err := gorgonia.ApplyOp(likelihood, sigma, residual)
	if err != nil || b.spec.Prior == nil {
		return cost, err
	}
	prior, err := b.spec.Prior(b.nodes)
	if err != nil {
		return nil, fmt.Errorf("graph: prior: %w", err)
	}
	if !prior.IsScalar() {
		return nil, fmt.Errorf("graph: prior of shape %v, needs a scalar", prior.Shape())
	}
	b.prior = prior
	return gorgonia.Add(cost, prior)
}

func newObjective(b *builder, cost *gorgonia.Node) (*Objective, error) {
	o := &Objective{graph: b.graph, solver: b.solver, vars: b.vars, cost: cost, prior: b.prior, labels: b.spec.Labels}
	var wrt gorgonia.Nodes
	for _, v := range b.vars {
		wrt = append(wrt, v.node)
	}
	if len(wrt) == 0 {
		return nil, fmt.Errorf("graph: every parameter is derived from others, so none is free")
	}
	var err error
	if o.grads, err = gorgonia.Grad(cost, wrt...); err != nil {
		return nil, fmt.Errorf("graph: differentiation: %w", err)
	}
	if o.value, err = newMachine(b.graph, gorgonia.Nodes{cost}); err != nil {
		return nil, err
	}
	o.gradient, err = newMachine(b.graph, append(gorgonia.Nodes{cost}, o.grads...))
	return o, err
}
