package problem

import (
	"fmt"
	"slices"
	"strings"

	"gpfit/graph"
	"gpfit/hyperopt/descent"
	"gpfit/internal/each"
	"gpfit/internal/suggest"
)

// ParameterList holds the parameters of a model, checked.
type ParameterList struct {
	// All are in the order in which the model names them. Free are the parameters of the
	// objective's vector, in the order of the graph's variables: all but the tied ones.
	All, Free []*Parameter
	// Priors are priors by the name of their parameter.
	Priors   map[string]graph.Prior
	Warnings []string
	// Zeros are the names of the offsets that are the constant 0.
	Zeros []string
	names *Names
}

// Parameter is a parameter of kernel, noise or mean, free or tied.
type Parameter struct {
	descent.Parameter
	// Indexed is the name with the index of a column in place of its name.
	Indexed string
	// Index is the place in the objective's vector. A tied parameter has the index of the
	// parameter whose value it takes, which Source names.
	Index  int
	Source string
	// Given says that the options set the start, TextStart that the kernel's
	// text does, Bounded that the options set the bounds. Found says that an earlier fit found
	// the start that is given.
	Given, TextStart, Bounded, Found bool
	// offset says that it may be the constant 0 if it is fixed.
	offset bool
	// real marks a parameter of the kernel of either sign.
	real bool
}

// List returns the free parameters for the optimizer.
func (p *ParameterList) List() []descent.Parameter {
	return each.Of(p.Free, func(q *Parameter) descent.Parameter { return q.Parameter })
}

// Changed returns a copy of the list with changed free parameters.
func (p *ParameterList) Changed(change func(i int, q *Parameter)) *ParameterList {
	out := *p
	out.All, out.Free = slices.Clone(p.All), slices.Clone(p.Free)
	for i, q := range p.Free {
		changed := *q
		change(i, &changed)
		out.Free[i], out.All[slices.Index(p.All, q)] = &changed, &changed
	}
	return &out
}

// Start returns the objective's vector at the start values.
func (p *ParameterList) Start() []float64 {
	return each.Of(p.Free, func(q *Parameter) float64 { return q.Z(q.Start) })
}

// NumFree returns the number of parameters that the optimizer varies.
func (p *ParameterList) NumFree() int {
	n := 0
	for _, q := range p.Free {
		if !q.Fixed {
			n++
		}
	}
	return n
}

// At returns the objective's vector at natural values by name; nil stands for the start values.
func (p *ParameterList) At(values map[string]float64) ([]float64, error) {
	z := p.Start()
	if values == nil {
		return z, nil
	}
	for i, q := range p.Free {
		v, ok := values[q.Name]
		if !ok {
			v, ok = values[q.Indexed]
		}
		if !ok || q.Log && !(v > 0) || v-v != 0 {
			return nil, OptionErrorf("", "", "there is no usable value of %s: %v", q.Name, v)
		}
		z[i] = q.Z(v)
	}
	return z, nil
}

// Values returns the natural values of all elements at z.
func (p *ParameterList) Values(z []float64) []float64 {
	return each.Of(p.All, func(e *Parameter) float64 { return p.Free[e.Index].Natural(z[e.Index]) })
}

// Named returns natural values of the free parameters at z by name.
func (p *ParameterList) Named(z []float64) map[string]float64 {
	out := map[string]float64{}
	for i, q := range p.Free {
		out[q.Name] = q.Natural(z[i])
	}
	return out
}

// Find returns the free parameters with that name, or all of a vector.
func (p *ParameterList) Find(name string) []int {
	var out []int
	indexed := p.names.indexed(name)
	for i, q := range p.Free {
		if q.Indexed == indexed {
			return []int{i}
		}
		if q.Group == name {
			out = append(out, i)
		}
	}
	return out
}

// MustFind is find with an error for a name that there is not, or that is tied.
func (p *ParameterList) MustFind(option, name string) ([]int, error) {
	if found := p.Find(name); found != nil {
		return found, nil
	}
	if slices.Contains(p.Zeros, name) {
		return nil, OptionErrorf(option, name, "%s is the constant 0 of the kernel, by its text or by option fix: leave out one of the two", name)
	}
	var names []string
	indexed := p.names.indexed(name)
	for _, e := range p.All {
		if e.Source != "" && (e.Indexed == indexed || e.Group == name) {
			return nil, OptionErrorf(option, name, "%s is tied to %s; give it to %s", e.Name, e.Source, e.Source)
		}
		names = append(names, e.Name)
	}
	return nil, OptionErrorf(option, name, "there is no such parameter%s; this model has %s", p.hint(name, names), Listed(names))
}

// hint returns what a name that there is not probably meant.
func (p *ParameterList) hint(name string, names []string) string {
	base, _, ok := strings.Cut(name, "[")
	if ok && slices.Contains(names, base) && base != graph.NoiseVariance {
		return ": " + base + " is one number for all columns, and only ard gives each column its own"
	}
	vectors := each.Of(p.All, func(e *Parameter) string { return e.Group })
	return suggest.DidYouMean(name, slices.Concat(names, vectors))
}

// Listed joins the first names of a list.
func Listed(names []string) string {
	const most = 20
	if more := len(names) - most; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), more)
	}
	return strings.Join(names, ", ")
}

// indexedPriors returns the priors by the indexed names of their parameters.
func (p *ParameterList) indexedPriors() map[string]graph.Prior {
	out := map[string]graph.Prior{}
	for _, q := range p.Free {
		if d, ok := p.Priors[q.Name]; ok {
			out[q.Indexed] = d
		}
	}
	return out
}

// hashed returns the free parameters as [Prepared.id] hashes them, under their indexed
// names: hashes do not depend on how a program displays names.
func (p *ParameterList) hashed() any {
	type parameter struct {
		descent.Parameter
		given, textStart, bounded bool
	}
	return each.Of(p.Free, func(q *Parameter) parameter {
		out := parameter{q.Parameter, q.Given, q.TextStart, q.Bounded}
		out.Name = q.Indexed
		return out
	})
}

// IndexedNames returns the indexed names of the free parameters.
func (p *ParameterList) IndexedNames() []string {
	return each.Of(p.Free, func(q *Parameter) string { return q.Indexed })
}
