package fit

import (
	"fmt"
	"slices"
	"strings"

	"gorgonia.org/gorgonia"

	"gpfit/graph"
	"gpfit/internal/suggest"
)

// Tie makes a parameter take the value of another: it is no free parameter any
// more.
type Tie struct {
	// Name and Source are names of parameters, of whole vectors or of their
	// elements. Vectors of the same length are tied element by element; one
	// number as the source serves all elements of Name.
	Name, Source string
}

func (t Tie) String() string { return t.Name + "=" + t.Source }

// element is a parameter of the model, free or tied, in the order in which the
// model names them.
type element struct {
	name, group string
	// index is its place among the free parameters, for a tied one that of the
	// parameter whose value it takes, named in source.
	index  int
	source string
}

// tie resolves the options' ties: tied parameters leave t.params, and
// t.elements lists all.
func (t *Task) tie() error {
	source := make([]int, len(t.params)) // −1 for a free parameter
	for i := range source {
		source[i] = -1
	}
	for _, tie := range t.opts.Ties {
		to, from, err := t.tiedPairs(tie)
		if err != nil {
			return err
		}
		for k, i := range to {
			switch {
			case source[i] >= 0:
				return optionErrorf("--tie %s: %s is already tied to %s", tie, t.params[i].name, t.params[source[i]].name)
			case t.params[i].textStart:
				t.warnings = append(t.warnings, fmt.Sprintf("the start value of %s in the kernel is not used: it is tied to %s", t.params[i].name, t.params[from[k]].name))
			}
			source[i] = from[k]
		}
	}
	var free []parameter
	place := make([]int, len(t.params))
	for i, p := range t.params {
		if source[i] < 0 {
			place[i] = len(free)
			free = append(free, p)
		}
	}
	for i, p := range t.params {
		e := element{name: p.name, group: p.group}
		root := i
		for path := []string{p.name}; source[root] >= 0; path = append(path, t.params[root].name) {
			if root = source[root]; len(path) > len(t.params) {
				return optionErrorf("--tie: %s", cycleText(path))
			}
		}
		if e.index = place[root]; root != i {
			e.source = t.params[root].name
		}
		t.elements = append(t.elements, e)
	}
	t.params = free
	return nil
}

// cycleText writes the part of a path of ties that goes round.
func cycleText(path []string) string {
	last := path[len(path)-1]
	begin := slices.Index(path, last)
	end := begin + 1 + slices.Index(path[begin+1:], last)
	return "the ties go round in a circle: " + strings.Join(path[begin:end+1], " = ")
}

// tiedPairs returns the parameters that a tie binds, and for each that whose
// value it takes.
func (t *Task) tiedPairs(tie Tie) (to, from []int, err error) {
	sides := make([][]int, 2)
	for k, name := range []string{tie.Name, tie.Source} {
		if sides[k] = t.find(name); sides[k] == nil {
			return nil, nil, t.unknownParameter("--tie", name)
		}
		for _, i := range sides[k] {
			if !t.params[i].isLog {
				return nil, nil, optionErrorf("--tie %s: %s is a coefficient of the mean; only parameters of the kernel and %s can be tied", tie, t.params[i].name, graph.NoiseVariance)
			}
		}
	}
	to, from = sides[0], sides[1]
	switch {
	case slices.Equal(to, from):
		return nil, nil, optionErrorf("--tie %s: %s is tied to itself", tie, tie.Name)
	case len(to) == len(from):
	case len(from) == 1:
		// The source may be an element of the vector itself.
		to = slices.DeleteFunc(to, func(i int) bool { return i == from[0] })
		from = slices.Repeat(from, len(to))
	default:
		return nil, nil, optionErrorf("--tie %s: %s is %d numbers and %s is %d: give one number, or a vector of the same length", tie, tie.Name, len(to), tie.Source, len(from))
	}
	for _, f := range t.opts.Fix {
		for _, i := range t.find(f.Name) {
			if slices.Contains(to, i) {
				return nil, nil, optionErrorf("--tie %s: %s is fixed, by --fix %s; fix %s instead", tie, t.params[i].name, f.Name, tie.Source)
			}
		}
	}
	return to, from, nil
}

// tiedError explains that an option names a tied parameter, nil if it does not.
func (t *Task) tiedError(flag, name string) error {
	for _, e := range t.elements {
		if e.source != "" && (e.name == name || e.group == name) {
			return optionErrorf("%s %s: %s is tied to %s; give it to %s", flag, name, e.name, e.source, e.source)
		}
	}
	return nil
}

// derive returns the ties for the graph.
func (t *Task) derive() map[string]func(graph.Nodes) (*gorgonia.Node, error) {
	ties := map[string]func(graph.Nodes) (*gorgonia.Node, error){}
	for _, e := range t.elements {
		if e.source != "" {
			ties[e.name] = graph.Tied(e.source)
		}
	}
	return ties
}

// values returns the natural values of all elements at z.
func (t *Task) values(z []float64) []float64 {
	out := make([]float64, len(t.elements))
	for i, e := range t.elements {
		out[i] = t.params[e.index].natural(z[e.index])
	}
	return out
}

// allNames returns the names of all parameters, tied ones included.
func (t *Task) allNames() []string {
	if t.elements == nil { // before ties are known
		names := make([]string, len(t.params))
		for i, p := range t.params {
			names[i] = p.name
		}
		return names
	}
	names := make([]string, len(t.elements))
	for i, e := range t.elements {
		names[i] = e.name
	}
	return names
}

func (t *Task) unknownParameter(flag, name string) error {
	if err := t.tiedError(flag, name); err != nil {
		return err
	}
	names := t.allNames()
	return optionErrorf("%s %s: there is no such parameter%s; this model has %s", flag, name, suggest.DidYouMean(name, names), strings.Join(names, ", "))
}
