package graph

import (
	"errors"
	"fmt"
	"maps"
	"strconv"
	"strings"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"gpfit/device"
	"gpfit/internal/pair"
	"gpfit/kernel"
	"gpfit/mean"
)

// NoiseVariance is the name of the noise variance or, with groups, of the vector of
// the parameters noise_variance[LABEL].
const NoiseVariance = "noise_variance"

// Spec describes the objective to build.
type Spec struct {
	// Program is the covariance function, X the points, n×d, and Y the targets: n
	// numbers, or n×T column-major for T targets that share all parameters. The
	// objective is the sum over the targets.
	Program *kernel.Program
	X       *kernel.Points
	Y       []float64
	// Mean is the mean function m(x) = Σ_j β_j h_j(x); empty means zero.
	Mean mean.Basis
	// MeanFree makes the coefficients β parameters of the objective, with their
	// names in package mean and without logarithms. Otherwise β maximises the
	// likelihood at the other parameters, with one vector per target.
	MeanFree bool
	// Noise describes the noise on the diagonal; the zero value is one variance for
	// all points.
	Noise NoiseModel
	// LeaveOneOut makes the objective the negative leave-one-out log predictive
	// density (looOp) instead of the negative log marginal likelihood. A value then
	// costs n³ operations, and a gradient after it up to 4n³/3. SquaredError, with
	// LeaveOneOut, takes the squared error of the predictions in place of their density.
	LeaveOneOut, SquaredError bool
	// Folds, with LeaveOneOut, are the ends of folds of consecutive rows, as in
	// [device.Blocks]: the objective then scores predictions of the rows of each fold from
	// all rows outside it. It needs memory for a matrix of each fold's rows on the host
	// ([device.Workload]). Threads is the number of threads that work on these
	// matrices, 0 for all.
	Folds   []int
	Threads int
	// Derive replaces parameters by functions of others. The key is a parameter's
	// name ("lengthscale" for all of an ARD vector, or the name of one element),
	// and the function returns its natural value as a node of the same shape. A
	// derived parameter is not a variable of the objective.
	Derive map[string]func(Nodes) (*gorgonia.Node, error)
	// Prior, if not nil, returns a scalar node that Build adds to the cost: the
	// negative log prior density, for example from [NegLogPrior].
	Prior func(Nodes) (*gorgonia.Node, error)
	// MaxJitter is the largest variance that may be added to the diagonal if Σ is
	// not positive definite; 0 allows none. Terms.Jitter reports the variance
	// added.
	MaxJitter float64
	// Labels are for drawings ([Objective.WriteDOT]).
	Labels Labels
	// Device names the device of the workspace in errors.
	Device string
}

// Nodes gives derivations and priors access to the free parameters by name.
type Nodes struct {
	// Log holds the variables of the optimiser: logarithms of parameters, and
	// coefficients of the mean without logarithm. Natural holds the parameters in
	// natural units.
	Log, Natural map[string]*gorgonia.Node
	// The derivations and priors of this package use these.
	graph     *gorgonia.ExprGraph
	vars      []*variable
	inputName func(string) string
}

// variable is a free parameter: an input node and the storage of its numbers.
type variable struct {
	name     string
	elements []string
	isLog    bool
	node     *gorgonia.Node
	natural  *gorgonia.Node
	offset   int
	// vector backs a vector node, number a scalar node.
	vector []float64
	number *gorgonia.F64
}

func (v *variable) set(z []float64) {
	if v.vector != nil {
		copy(v.vector, z[v.offset:])
	} else {
		*v.number = gorgonia.F64(z[v.offset])
	}
}

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

type builder struct {
	spec   Spec
	graph  *gorgonia.ExprGraph
	solver *solver
	vars   []*variable
	nodes  Nodes
	prior  *gorgonia.Node
	offset int
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

// inputName makes names unique per salt, because Gorgonia distinguishes nodes by
// name.
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
	if len(elements) == 1 {
		v.number = gorgonia.NewF64(0)
		v.node = gorgonia.NewScalar(b.graph, tensor.Float64, gorgonia.WithName(b.inputName(inputName)), gorgonia.WithValue(v.number))
	} else {
		v.vector = make([]float64, len(elements))
		value := tensor.New(tensor.WithShape(len(elements)), tensor.WithBacking(v.vector))
		v.node = gorgonia.NewVector(b.graph, tensor.Float64, gorgonia.WithShape(len(elements)), gorgonia.WithName(b.inputName(inputName)), gorgonia.WithValue(value))
	}
	v.natural = v.node
	b.vars = append(b.vars, v)
	b.nodes.Log[name] = v.node
	return v.node
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
