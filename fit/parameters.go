package fit

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"gpfit/graph"
	"gpfit/hyperopt/descent"
	"gpfit/internal/suggest"
)

// parameters are those of a model, checked.
type parameters struct {
	// free are those of the objective's vector, fixed ones included, in the order of
	// the graph's variables; elements are all, tied ones included, in the order in
	// which the model names them.
	free     []parameter
	elements []element
	// priors by the name of their parameter.
	priors   map[string]graph.Prior
	warnings []string
	// zeros are the names of the offsets that are the constant 0.
	zeros []string
	// indexed returns the indexed form of a name in an option.
	indexed func(name string) string
}

// parameter is one on its way from default values to what the options say.
type parameter struct {
	descent.Parameter
	// indexed is the name with the index of a column in place of its name.
	indexed string
	// given says that the options set the start, textStart that the kernel's
	// text does, bounded that the options set the bounds.
	given, textStart, bounded bool
	// offset says that it may be the constant 0 if it is fixed.
	offset bool
}

// element is a parameter of the model, free or tied.
type element struct {
	name, indexed, group string
	// index is its place among the free parameters. A tied element has the index of the
	// parameter whose value it takes, which source names.
	index  int
	source string
}

// list returns the free parameters for the optimiser.
func (p *parameters) list() []descent.Parameter {
	out := make([]descent.Parameter, len(p.free))
	for i, q := range p.free {
		out[i] = q.Parameter
	}
	return out
}

// start returns the objective's vector at the start values.
func (p *parameters) start() []float64 {
	z := make([]float64, len(p.free))
	for i, q := range p.free {
		z[i] = q.Z(q.Start)
	}
	return z
}

// at returns the objective's vector at natural values by name; nil stands for the
// start values.
func (p *parameters) at(values map[string]float64) ([]float64, error) {
	z := p.start()
	if values == nil {
		return z, nil
	}
	for i, q := range p.free {
		v, ok := values[q.Name]
		if !ok {
			v, ok = values[q.indexed]
		}
		if !ok || q.Log && !(v > 0) || v-v != 0 {
			return nil, optionErrorf("", "", "there is no usable value of %s: %v", q.Name, v)
		}
		z[i] = q.Z(v)
	}
	return z, nil
}

// values returns the natural values of all elements at z.
func (p *parameters) values(z []float64) []float64 {
	out := make([]float64, len(p.elements))
	for i, e := range p.elements {
		out[i] = p.free[e.index].Natural(z[e.index])
	}
	return out
}

// named returns natural values of the free parameters at z by name.
func (p *parameters) named(z []float64) map[string]float64 {
	out := map[string]float64{}
	for i, q := range p.free {
		out[q.Name] = q.Natural(z[i])
	}
	return out
}

// find returns the free parameters with that name, or all of a vector.
func (p *parameters) find(name string) []int {
	var out []int
	indexed := p.indexed(name)
	for i, q := range p.free {
		if q.indexed == indexed {
			return []int{i}
		}
		if q.Group == name {
			out = append(out, i)
		}
	}
	return out
}

// mustFind is find with an error for a name that there is not, or that is tied.
func (p *parameters) mustFind(option, name string) ([]int, error) {
	if found := p.find(name); found != nil {
		return found, nil
	}
	if slices.Contains(p.zeros, name) {
		return nil, optionErrorf(option, name, "%s is the constant 0 of the kernel, by its text or by option fix: leave out one of the two", name)
	}
	var names []string
	indexed := p.indexed(name)
	for _, e := range p.elements {
		if e.source != "" && (e.indexed == indexed || e.group == name) {
			return nil, optionErrorf(option, name, "%s is tied to %s; give it to %s", e.name, e.source, e.source)
		}
		names = append(names, e.name)
	}
	if names == nil { // before ties are known
		for _, q := range p.free {
			names = append(names, q.Name)
		}
	}
	return nil, optionErrorf(option, name, "there is no such parameter%s; this model has %s", p.hint(name, names), listed(names))
}

// hint returns what a name that there is not probably meant.
func (p *parameters) hint(name string, names []string) string {
	base, _, ok := strings.Cut(name, "[")
	if ok && slices.Contains(names, base) && base != graph.NoiseVariance {
		return ": " + base + " is one number for all columns, and only ard gives each column its own"
	}
	return suggest.DidYouMean(name, names)
}

// listed joins the first names of a list.
func listed(names []string) string {
	const most = 20
	if more := len(names) - most; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), more)
	}
	return strings.Join(names, ", ")
}

// assign takes start values and what is fixed.
func (p *parameters) assign(o Options) error {
	for i, a := range slices.Concat(o.Set, o.Fix) {
		option, fix := "set", i >= len(o.Set)
		if fix {
			option = "fix"
		}
		if fix && slices.Contains(p.zeros, a.Name) && (!a.Given || a.Value == 0) {
			continue
		}
		found, err := p.mustFind(option, a.Name)
		if err != nil {
			return err
		}
		for _, k := range found {
			q := &p.free[k]
			if a.Given && q.Group == graph.NoiseVariance && a.Value == 0 {
				return optionErrorf(option, a.Name+"=0", "must be a positive number; option noise none fits without noise")
			}
			if a.Given && q.offset && a.Value == 0 {
				return optionErrorf(option, a.Name+"=0", "a free offset cannot start at 0, because a fit varies its logarithm: option fix %s=0, or offset=0 in the kernel, makes it a constant", a.Name)
			}
			if a.Given && q.Log && !(a.Value > 0) || math.IsInf(a.Value, 0) || math.IsNaN(a.Value) {
				return optionErrorf(option, a.String(), "must be a positive number")
			}
			if a.Given {
				q.Start, q.given = a.Value, true
			}
			q.Fixed = q.Fixed || fix
		}
	}
	return nil
}

// bound sets bounds. A given start value widens default bounds. A default start value
// outside given bounds moves to the nearest one.
func (p *parameters) bound(o Options) error {
	for _, b := range o.Bounds {
		found, err := p.mustFind("bounds", b.Name)
		if err != nil {
			return err
		}
		for _, k := range found {
			switch q := &p.free[k]; {
			case q.Log && !(b.Lo > 0 && b.Lo < b.Hi):
				return optionErrorf("bounds", b.String(), "needs 0 < lower < upper")
			case !(b.Lo < b.Hi):
				return optionErrorf("bounds", b.String(), "needs lower < upper")
			default:
				q.Lower, q.Upper, q.bounded = b.Lo, b.Hi, true
				if !q.given && !q.textStart && !q.Fixed {
					q.Start = min(max(q.Start, b.Lo), b.Hi)
				}
			}
		}
	}
	for k := range p.free {
		// Coefficients of the mean have no default bounds.
		if q := &p.free[k]; q.Log && !q.bounded {
			q.Lower, q.Upper = min(q.Lower, q.Start/10), max(q.Upper, q.Start*10)
		}
	}
	return nil
}

// indexedPriors returns the priors by the indexed names of their parameters.
func (p *parameters) indexedPriors() map[string]graph.Prior {
	out := map[string]graph.Prior{}
	for _, q := range p.free {
		if d, ok := p.priors[q.Name]; ok {
			out[q.indexed] = d
		}
	}
	return out
}

// hashed returns the free parameters as [Prepared.id] hashes them, under their indexed
// names: hashes do not depend on how a program displays names.
func (p *parameters) hashed() any {
	type parameter struct {
		descent.Parameter
		given, textStart, bounded bool
	}
	out := make([]parameter, len(p.free))
	for i, q := range p.free {
		out[i] = parameter{q.Parameter, q.given, q.textStart, q.bounded}
		out[i].Name = q.indexed
	}
	return out
}

// indexedNames returns the indexed names of the free parameters.
func (p *parameters) indexedNames() []string {
	names := make([]string, len(p.free))
	for i, q := range p.free {
		names[i] = q.indexed
	}
	return names
}
