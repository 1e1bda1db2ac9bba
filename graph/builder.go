package graph

import (
	"strconv"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

type builder struct {
	spec   Spec
	graph  *gorgonia.ExprGraph
	solver *solver
	vars   []*variable
	nodes  Nodes
	prior  *gorgonia.Node
	offset int
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
