package problem

import (
	"fmt"
	"slices"
	"strings"

	"gorgonia.org/gorgonia"

	"gpfit/graph"
)

// tie resolves the options' ties: it removes tied parameters from p.Free.
func (p *application) tie() error {
	source := make([]int, len(p.Free)) // −1 for a free parameter
	for i := range source {
		source[i] = -1
	}
	for _, tie := range p.opts.Ties {
		to, from, err := p.tiedPairs(tie)
		if err != nil {
			return err
		}
		for k, i := range to {
			switch {
			case source[i] >= 0:
				return OptionErrorf("tie", tie.String(), "%s is already tied to %s", p.Free[i].Name, p.Free[source[i]].Name)
			case p.Free[i].TextStart:
				p.Warnings = append(p.Warnings, fmt.Sprintf("the start value of %s in the kernel is not used: it is tied to %s", p.Free[i].Name, p.Free[from[k]].Name))
			}
			source[i] = from[k]
		}
	}
	var free []*Parameter
	place := make([]int, len(p.Free))
	for i, q := range p.Free {
		if source[i] < 0 {
			place[i] = len(free)
			free = append(free, q)
		}
	}
	for i, q := range p.Free {
		root := i
		for path := []string{q.Name}; source[root] >= 0; path = append(path, p.Free[root].Name) {
			if root = source[root]; len(path) > len(p.Free) {
				return OptionErrorf("tie", "", "%s", cycleText(path))
			}
		}
		if q.Index = place[root]; root != i {
			q.Source = p.Free[root].Name
		}
	}
	p.Free = free
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
func (p *application) tiedPairs(tie Tie) (to, from []int, err error) {
	sides := make([][]int, 2)
	for k, name := range []string{tie.Name, tie.Source} {
		if sides[k], err = p.MustFind("tie", name); err != nil {
			return nil, nil, err
		}
		for _, i := range sides[k] {
			if !p.Free[i].Log && !p.Free[i].real {
				return nil, nil, OptionErrorf("tie", tie.String(), "%s is a coefficient of the mean; only parameters of the kernel and %s can be tied", p.Free[i].Name, graph.NoiseVariance)
			}
		}
	}
	to, from = sides[0], sides[1]
	of := func(i int) bool { return p.Free[i].real }
	if slices.ContainsFunc(to, of) != slices.ContainsFunc(from, of) {
		return nil, nil, OptionErrorf("tie", tie.String(), "a parameter of either sign and a positive one cannot be tied")
	}
	switch {
	case slices.Equal(to, from):
		return nil, nil, OptionErrorf("tie", tie.String(), "%s is tied to itself", tie.Name)
	case len(to) == len(from):
	case len(from) == 1:
		// The source may be an element of the vector itself.
		to = slices.DeleteFunc(to, func(i int) bool { return i == from[0] })
		from = slices.Repeat(from, len(to))
	default:
		return nil, nil, OptionErrorf("tie", tie.String(), "%s has length %d and %s has length %d: give one number, or a vector of the same length", tie.Name, len(to), tie.Source, len(from))
	}
	for _, f := range p.opts.Fix {
		for _, i := range p.Find(f.Name) {
			if slices.Contains(to, i) {
				return nil, nil, OptionErrorf("tie", tie.String(), "%s is fixed, by option fix %s; fix %s instead", p.Free[i].Name, f.Name, tie.Source)
			}
		}
	}
	return to, from, nil
}

// derived returns the ties for the graph.
func (p *ParameterList) derived() map[string]func(graph.Nodes) (*gorgonia.Node, error) {
	ties := map[string]func(graph.Nodes) (*gorgonia.Node, error){}
	for _, e := range p.All {
		if e.Source != "" {
			ties[e.Indexed] = graph.Tied(p.Free[e.Index].Indexed)
		}
	}
	return ties
}
