package grid

import (
	"fmt"

	"gpfit/device"
	"gpfit/method/internal/hostmethod"
)

// Name is the name of the method.
const Name = "grid"

// Method returns the method.
func Method() device.Method {
	return hostmethod.Method{
		Words: device.About{
			Name: Name, Exact: true, Text: "an eigenproblem for each factor of a kernel, if the rows are a full grid",
			Help: "an eigenproblem for each factor of a product if the rows are a full grid",
		},
		RowBytes: 8 * (arrays + 6), // of a table of three columns
		Suitable: "one that is a product",
		OneNoise: true,
		Supports: supports, Plan: plan,
		Open: func(s *hostmethod.State) hostmethod.Engine { return &workspace{State: s} },
	}
}

// supports refuses grids of one axis, for which the method is correct and of no use.
func supports(w device.Workload) error {
	groups, err := columnGroups(w.Program)
	if err == nil && len(groups) < 2 {
		err = errFew
	}
	if err != nil {
		return unsupportedKernel(w.Program, err)
	}
	if w.Points == nil {
		return nil
	}
	l, err := newLattice(w.Points, groups)
	if err == nil && l.factors() < 2 {
		err = noGrid("only one factor has several values")
	}
	return err
}

// flopRate is about the number of operations of plans in a second, on large grids.
const flopRate = 8e10

// The operations of an eigenproblem of size 1; operations of the dense method in the time of an evaluation of a tiny
// grid; and how many operations of the dense method take the time of one here.
const (
	eigenFlops = 12
	smallFlops = 2e7
	dependence = 3
)

// arrays is how many numbers the workspace has for each row.
const arrays = 6

// plan returns the plan of a workload, without a grid for a square one.
func plan(w device.Workload) device.Plan {
	l := planned(w)
	n, cubes, all, squares := float64(w.N), l.cubes(), l.all(), int64(0)
	for a := range l.axes {
		squares += int64(l.axes[a].size()) * int64(l.axes[a].size())
	}
	plan := device.Plan{
		N: w.N, D: w.D, FlopRate: flopRate,
		FlopsValue:    smallFlops + dependence*(eigenFlops*cubes+2*all+20*n),
		FlopsGradient: smallFlops + dependence*((eigenFlops+8)*cubes+5*all+40*n),
		Needs:         []device.Need{{Bytes: 8 * (arrays*int64(w.N) + 10*squares), What: fmt.Sprintf("a grid of %d rows and the matrices of its %d axes", w.N, len(l.axes))}},
	}
	if w.Diagonal {
		plan.FlopsGradient += dependence * l.middleFlops()
		plan = plan.With(device.Need{Bytes: 8 * (int64(w.N) + squares), What: "a middle term"})
	}
	return plan
}

// planned returns the grid of a workload, or a square one if it is not known.
func planned(w device.Workload) *lattice {
	if w.Program != nil && w.Points != nil {
		if groups, err := columnGroups(w.Program); err == nil {
			if l, err := newLattice(w.Points, groups); err == nil {
				return l
			}
		}
	}
	side := 1
	for side*side < w.N {
		side++
	}
	return &lattice{n: w.N, axes: []gridAxis{{rows: make([]int, side)}, {rows: make([]int, side)}}}
}
