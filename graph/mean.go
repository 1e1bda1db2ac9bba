package graph

import (
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"gpfit/mean"
)

// residual builds the residual for NLML: y − Hβ if β is a parameter, y otherwise.
// fixed reports whether it is free of parameters.
func (b *builder) residual() (r *gorgonia.Node, fixed bool, err error) {
	y := append([]float64(nil), b.spec.Y...)
	r = b.data("y", tensor.New(tensor.WithShape(len(y)), tensor.WithBacking(y)))
	if !b.spec.MeanFree || len(b.spec.Mean) == 0 {
		return r, true, nil
	}
	for _, part := range groups(b.spec.Mean) {
		if r, err = b.subtract(r, part); err != nil {
			return nil, false, err
		}
	}
	return r, false, nil
}

// data adds an input node that holds data.
func (b *builder) data(name string, value *tensor.Dense) *gorgonia.Node {
	return gorgonia.NodeFromAny(b.graph, value, gorgonia.WithName(b.inputName(name)))
}

// groups splits a basis wherever the name of the coefficients changes.
func groups(basis mean.Basis) []mean.Basis {
	var out []mean.Basis
	for i, f := range basis {
		if i == 0 || f.Group != basis[i-1].Group {
			out = append(out, nil)
		}
		out[len(out)-1] = append(out[len(out)-1], f)
	}
	return out
}

// subtract subtracts a group's part of the mean from r, with its coefficients as a
// scalar or vector parameter.
func (b *builder) subtract(r *gorgonia.Node, part mean.Basis) (*gorgonia.Node, error) {
	name := part[0].Group
	beta := b.variable(name, name, part.Names(), false)
	b.nodes.Natural[name] = beta
	if name == mean.Constant {
		return gorgonia.Sub(r, beta)
	}
	n, q := b.spec.X.N, len(part)
	h := part.Evaluate(b.spec.X)
	var columns *gorgonia.Node
	if q == 1 {
		columns = b.data(name+" column", tensor.New(tensor.WithShape(n), tensor.WithBacking(h)))
	} else {
		columns = b.data(name+" columns", tensor.New(tensor.WithShape(n, q), tensor.WithBacking(rowMajor(h, n, q))))
	}
	values, err := gorgonia.Mul(columns, beta)
	if err != nil {
		return nil, err
	}
	return gorgonia.Sub(r, values)
}

func rowMajor(h []float64, n, q int) []float64 {
	rows := make([]float64, n*q)
	for j := range q {
		for i, v := range h[j*n : (j+1)*n] {
			rows[i*q+j] = v
		}
	}
	return rows
}
