package graph

import (
	"fmt"
	"slices"

	"gorgonia.org/gorgonia"
)

// machine evaluates the part of an expression graph that some outputs depend on,
// operands first. It does the work of Gorgonia's TapeMachine on the caller's
// goroutine. The TapeMachine passes every run to another goroutine and keeps the
// caller's thread locked; these two thread switches cost more than the graph's own
// work (tens of microseconds, several per cent of an evaluation at n = 500).
type machine struct {
	steps  []step
	values []gorgonia.Value
	args   []gorgonia.Value
}

// step computes one node's value from the values of earlier steps; op is nil for an
// input, whose value is bound to the node.
type step struct {
	node   *gorgonia.Node
	op     gorgonia.Op
	inputs []int
}

// newMachine returns a machine for the nodes that outputs depend on.
func newMachine(g *gorgonia.ExprGraph, outputs gorgonia.Nodes) (*machine, error) {
	m := &machine{}
	index := map[*gorgonia.Node]int{}
	var visit func(n *gorgonia.Node) (int, error)
	visit = func(n *gorgonia.Node) (int, error) {
		if i, ok := index[n]; ok {
			return i, nil
		}
		s := step{node: n, op: n.Op()}
		children := g.From(n.ID())
		for children != nil && children.Next() {
			child, ok := children.Node().(*gorgonia.Node)
			if !ok {
				return 0, fmt.Errorf("graph: unexpected %T among the operands of %v", children.Node(), n)
			}
			i, err := visit(child)
			if err != nil {
				return 0, err
			}
			s.inputs = append(s.inputs, i)
		}
		if s.op != nil && s.op.Arity() >= 0 && s.op.Arity() != len(s.inputs) {
			return 0, fmt.Errorf("graph: %v has %d operands, but its op takes %d", n, len(s.inputs), s.op.Arity())
		}
		m.steps = append(m.steps, s)
		index[n] = len(m.steps) - 1
		return index[n], nil
	}
	for _, n := range outputs {
		if _, err := visit(n); err != nil {
			return nil, err
		}
	}
	m.values = make([]gorgonia.Value, len(m.steps))
	return m, nil
}

// run evaluates all nodes. A panic in a built-in op becomes an error.
func (m *machine) run() (err error) {
	current := 0
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("graph: panic in %v: %v", m.steps[current].node, p)
		}
	}()
	for i, s := range m.steps {
		current = i
		if s.op == nil {
			m.values[i] = s.node.Value()
			continue
		}
		m.args = m.args[:0]
		for _, j := range s.inputs {
			m.args = append(m.args, m.values[j])
		}
		if m.values[i], err = s.op.Do(m.args...); err != nil {
			return err
		}
	}
	return nil
}

// value returns the value of a node after a run.
func (m *machine) value(n *gorgonia.Node) gorgonia.Value {
	i := slices.IndexFunc(m.steps, func(s step) bool { return s.node == n })
	if i < 0 {
		return nil
	}
	return m.values[i]
}
