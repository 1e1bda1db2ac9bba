package graph

import (
	"fmt"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// Tied returns a function for [Spec].Derive that returns the value of another
// parameter or of one of its elements, such as "k1.lengthscale" or
// "lengthscale[2]".
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

// free returns the elements of a parameter that are not derived from others.
func (b *builder) free(name string, elements []string) []string {
	if b.spec.Derive[name] != nil {
		return nil
	}
	var free []string
	for _, element := range elements {
		if b.spec.Derive[element] == nil {
			free = append(free, element)
		}
	}
	return free
}

// deriveElements assembles a vector from its free and its derived elements, and
// returns the number of derived ones. With P_j the unit vector of element j and P_F
// the unit vectors of the free elements,
//
//	θ = P_F·θ_F + Σ_j P_j θ_j.
func (b *builder) deriveElements(nodes Nodes, name string, elements []string) (int, error) {
	free := b.free(name, elements)
	derived := len(elements) - len(free)
	if derived == 0 {
		return 0, nil
	}
	var sum *gorgonia.Node
	add := func(part *gorgonia.Node, err error) error {
		if err == nil && sum != nil {
			part, err = gorgonia.Add(sum, part)
		}
		sum = part
		return err
	}
	if len(free) > 0 {
		if err := add(b.scatter(name, elements, free)); err != nil {
			return 0, err
		}
	}
	for j, element := range elements {
		f := b.spec.Derive[element]
		if f == nil {
			continue
		}
		node, err := f(nodes)
		if err != nil {
			return 0, fmt.Errorf("graph: derivation of %s: %w", element, err)
		}
		if !node.IsScalar() {
			return 0, fmt.Errorf("graph: derivation of %s has shape %v, needs a scalar", element, node.Shape())
		}
		if len(elements) > 1 {
			unit := make([]float64, len(elements))
			unit[j] = 1
			node, err = gorgonia.Mul(b.nodes.input("place of "+element, unit), node)
		}
		if err := add(node, err); err != nil {
			return 0, err
		}
	}
	b.nodes.Natural[name] = sum
	return derived, nil
}

// scatter returns P_F·θ_F.
func (b *builder) scatter(name string, elements, free []string) (*gorgonia.Node, error) {
	m, k := len(elements), len(free)
	places := make([]float64, m*k)
	for row, column := 0, 0; row < m; row++ {
		if column < k && elements[row] == free[column] {
			places[row*k+column] = 1
			column++
		}
	}
	if k == 1 {
		return gorgonia.Mul(b.nodes.input("places in "+name, places), b.nodes.Natural[name])
	}
	matrix := gorgonia.NewMatrix(b.graph, tensor.Float64, gorgonia.WithShape(m, k), gorgonia.WithName(b.inputName("places in "+name)),
		gorgonia.WithValue(tensor.New(tensor.WithShape(m, k), tensor.WithBacking(places))))
	return gorgonia.Mul(matrix, b.nodes.Natural[name])
}

// partly reports whether deriveElements still has to assemble a vector. Until then
// its node holds only the free elements, and derivations cannot use the whole
// vector.
func (b *builder) partly(name string) bool {
	for _, v := range b.vars {
		if v.name != name || !v.isLog {
			continue
		}
		for _, p := range b.spec.Program.Params {
			if p.Name == name {
				return len(v.elements) < p.Size
			}
		}
	}
	return false
}
