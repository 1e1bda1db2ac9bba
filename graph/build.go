package graph

import (
	"errors"
	"fmt"
	"maps"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/floats"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"gpfit/device"
	"gpfit/internal/transform"
	"gpfit/kernel"
	"gpfit/kernel/symbolic"
	"gpfit/mean"
)

// maxSalts bounds the attempts to build a graph without hash collisions. A
// collision among a hundred nodes has odds of about 1 in a million.
const maxSalts = 8

// Build compiles the objective of spec on the workspace ws, which must hold the points spec.X.
// From then on, only the objective may call the workspace. Build holds the lock [symbolic.Building],
// so no kernel can be compiled meanwhile; Derive and Prior must not compile one.
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
	if t := spec.Transform; t != nil && (len(spec.Y) > n || len(t.Coordinates) != n || !(t.Scale > 0)) {
		return nil, fmt.Errorf("graph: transform of %d targets for %d points, with scale %v", len(t.Coordinates), n, t.Scale)
	}
	if err := spec.Noise.check(n); err != nil {
		return nil, err
	}
	if err := checkFolds(spec.Folds, n); err != nil {
		return nil, err
	}
	symbolic.Building.Lock()
	defer symbolic.Building.Unlock()
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

// checkFolds returns an error unless folds are nil or the ends of at least two folds of n rows.
func checkFolds(folds []int, n int) error {
	if folds == nil {
		return nil
	}
	if len(folds) < 2 {
		return fmt.Errorf("graph: %d folds: cross-validation needs two", len(folds))
	}
	first := 0
	for _, end := range folds {
		if end <= first || end > n {
			return fmt.Errorf("graph: folds end at rows %v of %d", folds, n)
		}
		first = end
	}
	if first != n {
		return fmt.Errorf("graph: folds of %d rows for %d points", first, n)
	}
	return nil
}

// hashesCollide reports whether two nodes have the same hash; the compiler would treat them as one.
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

type builder struct {
	spec   Spec
	graph  *gorgonia.ExprGraph
	solver *solver
	vars   []*variable
	nodes  Nodes
	prior  *gorgonia.Node
	volume *gorgonia.Node
	offset int
	// positive are the parameters of the kernel, and the noise variances.
	positive []positive
}

// positive is a positive parameter, or a real one of a formula, with the names of its elements. free are the names of
// the elements that are not derived from others.
type positive struct {
	name           string
	elements, free []string
	real           bool // of either sign
}

func (b *builder) build() (*Objective, error) {
	b.nodes = Nodes{Log: map[string]*gorgonia.Node{}, Natural: map[string]*gorgonia.Node{}, graph: b.graph, inputName: b.inputName}
	b.list()
	for _, p := range b.positive {
		if len(p.free) == 0 {
			continue
		}
		natural, err := b.natural(p)
		if err != nil {
			return nil, err
		}
		b.nodes.Natural[p.name] = natural
		b.vars[len(b.vars)-1].natural = natural
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

// natural adds the free elements of a parameter as logarithms, or a real parameter itself, and returns
// the node of their values.
func (b *builder) natural(p positive) (*gorgonia.Node, error) {
	if p.real {
		return b.variable(p.name, p.name, p.free, false), nil
	}
	return gorgonia.Exp(b.variable(p.name, "log "+p.name, p.free, true))
}

// list sets b.positive.
func (b *builder) list() {
	for _, p := range b.spec.Program.Params {
		b.positive = append(b.positive, positive{name: p.Name, elements: p.ElementNames(), real: p.Kind == kernel.Location})
	}
	if names := b.spec.Noise.names(); len(names) > 0 {
		b.positive = append(b.positive, positive{name: NoiseVariance, elements: names})
	}
	for i := range b.positive {
		p := &b.positive[i]
		for _, element := range p.elements {
			if b.spec.Derive[p.name] == nil && b.spec.Derive[element] == nil {
				p.free = append(p.free, element)
			}
		}
	}
}

// inputName makes names unique per salt, because Gorgonia distinguishes nodes by name.
func (b *builder) inputName(name string) string {
	if b.solver.salt == 0 {
		return name
	}
	return name + " #" + strconv.FormatUint(b.solver.salt, 10)
}

// variable adds a free parameter with the given elements as an input node.
func (b *builder) variable(name, inputName string, elements []string, isLog bool) *gorgonia.Node {
	v := &variable{name: name, elements: elements, isLog: isLog, offset: b.offset}
	b.offset += len(elements)
	named := gorgonia.WithName(b.inputName(inputName))
	if len(elements) == 1 {
		v.number = gorgonia.NewF64(0)
		v.node = gorgonia.NewScalar(b.graph, tensor.Float64, named, gorgonia.WithValue(v.number))
	} else {
		v.vector = make([]float64, len(elements))
		v.node = gorgonia.NewVector(b.graph, tensor.Float64, gorgonia.WithShape(len(elements)), named, gorgonia.WithValue(vectorValue(v.vector)))
	}
	v.natural = v.node
	b.vars = append(b.vars, v)
	b.nodes.Log[name] = v.node
	return v.node
}

// derive adds the parameters that are functions of others.
func (b *builder) derive() error {
	b.nodes.vars = b.vars
	free := b.nodes
	free.Natural = maps.Clone(b.nodes.Natural)
	for _, p := range b.positive {
		if len(p.free) < len(p.elements) {
			delete(free.Natural, p.name) // its node holds only the free elements
		}
	}
	used := 0
	for _, p := range b.positive {
		var err error
		if f := b.spec.Derive[p.name]; f != nil {
			used++
			b.nodes.Natural[p.name], err = derived(f, free, p.name, len(p.elements))
		} else if count := len(p.elements) - len(p.free); count > 0 {
			used += count
			b.nodes.Natural[p.name], err = b.assemble(free, p)
		}
		if err != nil {
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

// derived returns the node of a derivation, of that many elements.
func derived(f func(Nodes) (*gorgonia.Node, error), free Nodes, name string, size int) (*gorgonia.Node, error) {
	node, err := f(free)
	if err != nil {
		return nil, fmt.Errorf("graph: derivation of %s: %w", name, err)
	}
	if !node.Shape().Eq(numberShape(size)) {
		return nil, fmt.Errorf("graph: derivation of %s has shape %v, needs %v", name, node.Shape(), numberShape(size))
	}
	return node, nil
}

// assemble returns a vector of free and derived elements. With P_j the unit vector of
// element j and P_F the unit vectors of the free elements, it is
//
//	θ = P_F·θ_F + Σ_j P_j θ_j.
func (b *builder) assemble(free Nodes, p positive) (sum *gorgonia.Node, err error) {
	if len(p.free) > 0 {
		if sum, err = b.scatter(p); err != nil {
			return nil, err
		}
	}
	for j, element := range p.elements {
		f := b.spec.Derive[element]
		if f == nil {
			continue
		}
		node, err := derived(f, free, element, 1)
		if err == nil && len(p.elements) > 1 {
			unit := make([]float64, len(p.elements))
			unit[j] = 1
			node, err = gorgonia.Mul(b.nodes.input("place of "+element, unit), node)
		}
		if err == nil && sum != nil {
			node, err = gorgonia.Add(sum, node)
		}
		if err != nil {
			return nil, err
		}
		sum = node
	}
	return sum, nil
}

// scatter returns P_F·θ_F.
func (b *builder) scatter(p positive) (*gorgonia.Node, error) {
	m, k := len(p.elements), len(p.free)
	places := make([]float64, m*k)
	for row, column := 0, 0; row < m; row++ {
		if column < k && p.elements[row] == p.free[column] {
			places[row*k+column] = 1
			column++
		}
	}
	name := "places in " + p.name
	if k == 1 {
		return gorgonia.Mul(b.nodes.input(name, places), b.nodes.Natural[p.name])
	}
	matrix := gorgonia.NewMatrix(b.graph, tensor.Float64, gorgonia.WithShape(m, k), gorgonia.WithName(b.inputName(name)),
		gorgonia.WithValue(tensor.New(tensor.WithShape(m, k), tensor.WithBacking(places))))
	return gorgonia.Mul(matrix, b.nodes.Natural[p.name])
}

// residual builds the residual for NLML: y − Hβ if β is a parameter, y otherwise, where y may be
// transformed. fixed reports whether it is free of parameters.
func (b *builder) residual() (r *gorgonia.Node, fixed bool, err error) {
	if fixed = b.spec.Transform == nil; fixed {
		y := append([]float64(nil), b.spec.Y...)
		r = b.data("y", y, len(y))
	} else if r, err = b.warped(b.spec.Transform); err != nil {
		return nil, false, err
	}
	if !b.spec.MeanFree || len(b.spec.Mean) == 0 {
		return r, fixed, nil
	}
	for _, part := range groups(b.spec.Mean) {
		if r, err = b.subtract(r, part); err != nil {
			return nil, false, err
		}
	}
	return r, false, nil
}

// warped adds λ and returns the targets. It sets b.volume, the term of the objective.
func (b *builder) warped(t *TargetTransform) (*gorgonia.Node, error) {
	lambda := b.variable(transform.Parameter, transform.Parameter, []string{transform.Parameter}, false)
	b.nodes.Natural[transform.Parameter] = lambda
	size, err := gorgonia.Mul(b.nodes.input("sum of coordinates", []float64{floats.Sum(t.Coordinates)}), lambda)
	if err == nil {
		b.volume, err = gorgonia.Sub(b.nodes.input("sum of coordinates, volume", []float64{floats.Sum(t.Coordinates)}), size)
	}
	if err != nil {
		return nil, err
	}
	return gorgonia.ApplyOp(ops{b.solver}.transformOp(t), lambda)
}

// data adds an input node that holds a vector or a matrix.
func (b *builder) data(name string, x []float64, shape ...int) *gorgonia.Node {
	value := tensor.New(tensor.WithShape(shape...), tensor.WithBacking(x))
	return gorgonia.NodeFromAny(b.graph, value, gorgonia.WithName(b.inputName(name)))
}

// groups splits a basis wherever the name of the coefficients changes.
func groups(basis mean.Basis) []mean.Basis {
	var out []mean.Basis
	for i, f := range basis {
		if i == 0 || f.Group != basis[i-1].Group {
			out = append(out, nil)
		}
		out[len(out)-1] = append(out[len(out)-1], f)
	}
	return out
}

// subtract subtracts a group's part of the mean from r, with its coefficients as a
// scalar or vector parameter.
func (b *builder) subtract(r *gorgonia.Node, part mean.Basis) (*gorgonia.Node, error) {
	name := part[0].Group
	beta := b.variable(name, name, part.Names(), false)
	b.nodes.Natural[name] = beta
	if name == mean.Constant {
		return gorgonia.Sub(r, beta)
	}
	n, q := b.spec.X.N, len(part)
	h := part.Evaluate(b.spec.X)
	var columns *gorgonia.Node
	if q == 1 {
		columns = b.data(name+" column", h, n)
	} else {
		columns = b.data(name+" columns", transposed(h, q, n), n, q)
	}
	values, err := gorgonia.Mul(columns, beta)
	if err != nil {
		return nil, err
	}
	return gorgonia.Sub(r, values)
}

// cost applies the fused ops and adds the prior.
func (b *builder) cost(residual *gorgonia.Node, fixed bool) (*gorgonia.Node, error) {
	s := b.solver
	points := &handle{rows: b.spec.X.N, cols: b.spec.X.D}
	children := gorgonia.Nodes{gorgonia.NewMatrix(b.graph, tensor.Float64, gorgonia.WithShape(b.spec.X.N, b.spec.X.D), gorgonia.WithName(b.inputName("X")), gorgonia.WithValue(points))}
	for _, p := range b.spec.Program.Params {
		children = append(children, b.nodes.Natural[p.Name])
	}
	k, err := gorgonia.ApplyOp(ops{s}.kernelOp(), children...)
	if err != nil {
		return nil, err
	}
	diagonal := gorgonia.Nodes{k}
	if noise := b.nodes.Natural[NoiseVariance]; noise != nil {
		diagonal = append(diagonal, noise)
	}
	sigma, err := gorgonia.ApplyOp(ops{s}.addNoiseOp(b.spec.Noise), diagonal...)
	if err != nil {
		return nil, err
	}
	cost, err := gorgonia.ApplyOp(ops{s}.nlmlOp(fixed), sigma, residual)
	if err == nil && b.volume != nil {
		cost, err = gorgonia.Add(cost, b.volume)
	}
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
	o := &Objective{graph: b.graph, solver: b.solver, vars: b.vars, cost: cost, prior: b.prior, volume: b.volume, transform: b.spec.Transform, labels: b.spec.Labels}
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

// Tied returns a function for [Spec].Derive that returns the value of another parameter or of one
// of its elements, such as "k1.lengthscale" or "lengthscale[2]".
func Tied(source string) func(Nodes) (*gorgonia.Node, error) {
	return func(n Nodes) (*gorgonia.Node, error) {
		if node := n.Natural[source]; node != nil {
			return node, nil
		}
		for _, v := range n.vars {
			for i, element := range v.elements {
				if element != source {
					continue
				}
				if len(v.elements) == 1 {
					return v.natural, nil
				}
				return gorgonia.Slice(v.natural, gorgonia.S(i))
			}
		}
		return nil, fmt.Errorf("no free parameter is named %s", source)
	}
}
