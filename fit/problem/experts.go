package problem

import (
	"fmt"
	"slices"
	"strconv"

	"gpfit/device"
	"gpfit/internal/textform"
	"gpfit/method/experts"
)

// FindMethod returns the method called name in a list for a fit with the options o, nil for
// [device.Chosen] and for the empty name. It returns an [*OptionError] for a method that
// does not exist or that does not suit the options.
func FindMethod(name string, methods []device.Method, o Options) (device.Method, error) {
	m, err := device.FindMethod(name, methods)
	if err != nil {
		return nil, OptionErrorf("method", textform.Quote(name), "%v", err)
	}
	if err := experts.CheckMethod(name, o.Experts != ""); err != nil {
		return nil, OptionErrorf("method", name, "%v", err)
	}
	if m != nil && m.About().Exact && o.Tolerance != 0 {
		return nil, OptionErrorf("tolerance", strconv.FormatFloat(o.Tolerance, 'g', -1, 64), "the method %s is exact and has no use for it: leave out one of the two options", name)
	}
	return m, nil
}

// MethodsOf returns the methods of which one computes a fit: the method that was asked for, the method of
// local experts with option experts, or all that may be chosen.
func MethodsOf(asked device.Method, methods []device.Method, o Options) []device.Method {
	switch {
	case asked != nil:
		return []device.Method{asked}
	case o.Experts != "":
		return []device.Method{experts.Method{}}
	}
	return slices.DeleteFunc(slices.Clone(methods), func(m device.Method) bool { return !m.About().Choosable() })
}

// partition divides the rows of a sample among the experts of the options; nil without
// experts. It adds warnings about clusters that it changed to the sample.
func (o *resolved) partition(s *Sample) (*experts.Partition, error) {
	if o.Experts == "" {
		return nil, nil
	}
	if o.clusters > s.N()/2 {
		return nil, OptionErrorf("experts", o.Experts, "there are %d training rows, which is fewer than two for each cluster", s.N())
	}
	rows := s.Scalings[0].Inputs(s.X)
	p := experts.NewPartition(rows, s.N(), s.D(), experts.PartitionOptions{Clusters: o.clusters, MaxRows: o.ExpertRows, Combine: o.Combine, Seed: o.Settings.Seed})
	limit := o.ExpertRows
	for _, w := range []struct {
		given bool
		text  string
	}{
		{p.Split > 0, fmt.Sprintf("clusters with too many rows for one expert were divided again: there are %d experts, of up to %d rows (option expert-rows sets the limit)", len(p.Sizes), p.Largest())},
		{p.Merged > 0, fmt.Sprintf("rows of clusters that are too small for an expert went to others (%d): there are %d experts", p.Merged, len(p.Sizes))},
		{len(p.Sizes) < o.clusters && p.Merged == 0, fmt.Sprintf("the rows have only %d different values: there are %[1]d experts", len(p.Sizes))},
		{limit > 0 && p.Largest() > limit, fmt.Sprintf("an expert has %d rows, more than option expert-rows %d allows: its rows are the same in all columns", p.Largest(), limit)},
	} {
		if w.given {
			s.warnings = append(s.warnings, w.text)
		}
	}
	return p, nil
}

// LargestMatrix returns the number of rows of the largest matrix of the job: all rows,
// or the rows of the largest local expert.
func (j *Prepared) LargestMatrix() int {
	if j.Experts == nil {
		return j.N()
	}
	return j.Experts.Largest()
}

// NumFitted returns the number of parameters that a fit finds, including the
// coefficients of a mean by least squares.
func (j *Prepared) NumFitted() int {
	n := j.Params.NumFree()
	if !j.Model.MeanFree {
		n += len(j.Model.Basis)
	}
	return n
}
