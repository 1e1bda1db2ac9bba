package grid

import (
	"errors"
	"fmt"
	"slices"

	"gpfit/device"
	"gpfit/kernel"
	"gpfit/method/internal/hostmethod"
)

// divisible are the families that are products of a function of each of their columns. The columns of
// all other leaves belong to one group.
var divisible = []string{"rbf", "periodic", "hamming"}

// errFew is the error of a kernel with fewer than two factors.
var errFew = errors.New("it has no two factors with columns of their own, such as rbf(dims=0)*matern32(dims=1)")

// columnGroups returns the groups of columns over which a kernel is a product, in the order of their
// first columns. Columns on which it does not depend are in no group.
func columnGroups(prog *kernel.Program) ([][]int, error) {
	terms := prog.Monomials()
	if len(terms) != 1 {
		return nil, fmt.Errorf("it is a sum of %d terms, and a grid needs a product", len(terms))
	}
	// of is the group of each column, −1 for none: the number of its first column.
	of := slices.Repeat([]int{-1}, prog.D)
	for _, leaf := range terms[0].Leaves {
		switch {
		case leaf.Family.Name == "constant":
		case slices.Contains(divisible, leaf.Family.Name):
			for _, c := range leaf.Columns {
				unite(of, []int{c})
			}
		default:
			unite(of, leaf.Columns)
		}
	}
	for _, sum := range terms[0].Sums {
		unite(of, columnsOf(sum))
	}
	members := make([][]int, prog.D)
	for c, g := range of {
		if g >= 0 {
			members[g] = append(members[g], c)
		}
	}
	groups := slices.DeleteFunc(members, func(group []int) bool { return group == nil })
	if len(groups) == 0 {
		return nil, errFew
	}
	return groups, nil
}

// unite makes one group of the groups of some columns.
func unite(of, columns []int) {
	if len(columns) == 0 {
		return
	}
	first := slices.Min(columns)
	for _, c := range columns {
		if of[c] >= 0 {
			first = min(first, of[c])
		}
	}
	for _, c := range columns {
		old := of[c]
		if of[c] = first; old < 0 || old == first {
			continue
		}
		for k, g := range of {
			if g == old {
				of[k] = first
			}
		}
	}
}

// columnsOf returns the columns on which a sum depends.
func columnsOf(sum []*kernel.Monomial) (columns []int) {
	for _, m := range sum {
		for _, leaf := range m.Leaves {
			if leaf.Family.Name != "constant" {
				columns = append(columns, leaf.Columns...)
			}
		}
		for _, inner := range m.Sums {
			columns = append(columns, columnsOf(inner)...)
		}
	}
	return columns
}

// unsupportedKernel is the error of a kernel that is no product.
func unsupportedKernel(prog *kernel.Program, err error) error {
	return &device.UnsupportedKernelError{Device: hostmethod.Name, Method: Name, Kernel: prog.Text, Err: err}
}
