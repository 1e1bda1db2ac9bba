package fit

import (
	"slices"
	"strconv"
	"strings"

	"gpfit/fit/problem"
	"gpfit/graph"
	"gpfit/kernel"
)

// leafValues holds fitted parameters by the leaf that they belong to, as start values
// for other kernels with the same leaves. The signal variance of a product belongs to
// no leaf and takes its default start value.
type leafValues struct {
	leaves map[*kernel.Leaf]map[string]float64
	noise  []problem.Assignment
}

func newLeafValues(e kernel.Expr, parameters map[string]float64) leafValues {
	v := leafValues{leaves: map[*kernel.Leaf]map[string]float64{}}
	walk(e, "", func(l *kernel.Leaf, prefix string) {
		v.leaves[l] = map[string]float64{}
		for name, value := range parameters {
			rest, ok := strings.CutPrefix(name, prefix)
			if ok && !inLeaf(rest) && isKernels(rest) {
				v.leaves[l][rest] = value
			}
		}
	})
	for name, value := range parameters {
		if strings.HasPrefix(name, graph.NoiseVariance) {
			v.noise = append(v.noise, problem.Assignment{Name: name, Value: value, Given: true})
		}
	}
	return v
}

// newScales returns the names of the lengthscales and periods of the leaves that have
// no fitted values yet.
func (v leafValues) newScales(e kernel.Expr, parameters map[string]float64) []string {
	var out []string
	walk(e, "", func(l *kernel.Leaf, prefix string) {
		if _, known := v.leaves[l]; known {
			return
		}
		for name := range parameters {
			rest, ok := strings.CutPrefix(name, prefix)
			if ok && (strings.HasPrefix(rest, "lengthscale") || strings.HasPrefix(rest, "period")) {
				out = append(out, name)
			}
		}
	})
	slices.Sort(out)
	return out
}

// inLeaf reports whether a parameter's name begins with the path of a leaf. The name of
// a column, in brackets, may have a dot.
func inLeaf(name string) bool {
	path, _, _ := strings.Cut(name, "[")
	return strings.Contains(path, ".")
}

// isKernels reports whether a parameter belongs to the kernel, not to noise or mean.
func isKernels(name string) bool {
	return !strings.HasPrefix(name, graph.NoiseVariance) && !strings.HasPrefix(name, "mean_")
}

// walk visits the leaves with the prefix of their parameters' names.
func walk(e kernel.Expr, prefix string, visit func(l *kernel.Leaf, prefix string)) {
	if l, ok := e.(*kernel.Leaf); ok {
		visit(l, prefix)
		return
	}
	parts, _ := children(e)
	for i, p := range parts {
		walk(p, prefix+"k"+strconv.Itoa(i+1)+".", visit)
	}
}

// assignments assigns the values of e's leaves to its parameters among names.
func (v leafValues) assignments(e kernel.Expr, names []string) []problem.Assignment {
	var out []problem.Assignment
	for _, a := range v.noise {
		if slices.Contains(names, a.Name) {
			out = append(out, a)
		}
	}
	walk(e, "", func(l *kernel.Leaf, prefix string) {
		for rest, value := range v.leaves[l] {
			if name := prefix + rest; slices.Contains(names, name) {
				out = append(out, problem.Assignment{Name: name, Value: value, Given: true})
			}
		}
	})
	slices.SortFunc(out, func(a, b problem.Assignment) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// children returns the parts of a sum or product, and a function that joins parts.
func children(e kernel.Expr) ([]kernel.Expr, func([]kernel.Expr) kernel.Expr) {
	switch e := e.(type) {
	case kernel.Sum:
		return e, func(p []kernel.Expr) kernel.Expr { return kernel.Sum(p) }
	case kernel.Product:
		return e, func(p []kernel.Expr) kernel.Expr { return kernel.Product(p) }
	}
	return nil, nil
}
