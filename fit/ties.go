package fit

import (
	"fmt"
	"slices"
	"strings"

	"gorgonia.org/gorgonia"

	"gpfit/graph"
)

// tie resolves the options' ties: it removes tied parameters from p.free and lists
// all parameters in p.elements.
func (p *parameters) tie(o Options) error {
	source := make([]int, len(p.free)) // −1 for a free parameter
	for i := range source {
		source[i] = -1
	}
	for _, tie := range o.Ties {
		to, from, err := p.tiedPairs(tie, o.Fix)
		if err != nil {
			return err
		}
		for k, i := range to {
			switch {
			case source[i] >= 0:
				return optionErrorf("tie", tie.String(), "%s is already tied to %s", p.free[i].Name, p.free[source[i]].Name)
			case p.free[i].textStart:
				p.warnings = append(p.warnings, fmt.Sprintf("the start value of %s in the kernel is not used: it is tied to %s", p.free[i].Name, p.free[from[k]].Name))
			}
			source[i] = from[k]
		}
	}
	var free []parameter
	place := make([]int, len(p.free))
	for i, q := range p.free {
		if source[i] < 0 {
			place[i] = len(free)
			free = append(free, q)
		}
	}
	for i, q := range p.free {
		e := element{name: q.Name, indexed: q.indexed, group: q.Group}
		root := i
		for path := []string{q.Name}; source[root] >= 0; path = append(path, p.free[root].Name) {
			if root = source[root]; len(path) > len(p.free) {
				return optionErrorf("tie", "", "%s", cycleText(path))
			}
		}
		if e.index = place[root]; root != i {
			e.source = p.free[root].Name
		}
		p.elements = append(p.elements, e)
	}
	p.free = free
	return nil
}

// cycleText formats the cycle in a path of ties.
func cycleText(path []string) string {
	last := path[len(path)-1]
	begin := slices.Index(path, last)
	end := begin + 1 + slices.Index(path[begin+1:], last)
	return "the ties form a cycle: " + strings.Join(path[begin:end+1], " = ")
}

// tiedPairs returns the parameters that a tie binds and, for each, the parameter
// whose value it takes.
func (p *parameters) tiedPairs(tie Tie, fix []Assignment) (to, from []int, err error) {
	sides := make([][]int, 2)
	for k, name := range []string{tie.Name, tie.Source} {
		if sides[k], err = p.mustFind("tie", name); err != nil {
			return nil, nil, err
		}
		for _, i := range sides[k] {
			if !p.free[i].Log {
				return nil, nil, optionErrorf("tie", tie.String(), "%s is a coefficient of the mean; only parameters of the kernel and %s can be tied", p.free[i].Name, graph.NoiseVariance)
			}
		}
	}
	to, from = sides[0], sides[1]
	switch {
	case slices.Equal(to, from):
		return nil, nil, optionErrorf("tie", tie.String(), "%s is tied to itself", tie.Name)
	case len(to) == len(from):
	case len(from) == 1:
		// The source may be an element of the vector itself.
		to = slices.DeleteFunc(to, func(i int) bool { return i == from[0] })
		from = slices.Repeat(from, len(to))
	default:
		return nil, nil, optionErrorf("tie", tie.String(), "%s has length %d and %s has length %d: give one number, or a vector of the same length", tie.Name, len(to), tie.Source, len(from))
	}
	for _, f := range fix {
		for _, i := range p.find(f.Name) {
			if slices.Contains(to, i) {
				return nil, nil, optionErrorf("tie", tie.String(), "%s is fixed, by option fix %s; fix %s instead", p.free[i].Name, f.Name, tie.Source)
			}
		}
	}
	return to, from, nil
}

// derived returns the ties for the graph.
func (p *parameters) derived() map[string]func(graph.Nodes) (*gorgonia.Node, error) {
	ties := map[string]func(graph.Nodes) (*gorgonia.Node, error){}
	for _, e := range p.elements {
		if e.source != "" {
			ties[e.indexed] = graph.Tied(p.free[e.index].indexed)
		}
	}
	return ties
}
