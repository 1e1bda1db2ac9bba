package problem

import (
	"fmt"
	"strconv"

	"gpfit/device"
	"gpfit/experts"
	"gpfit/gp"
	"gpfit/internal/textform"
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
	return m, nil
}

// partition divides the rows of a sample among the experts of the options; nil without
// experts. It adds warnings about clusters that it changed to the sample.
func (o Options) partition(s *Sample) (*experts.Partition, error) {
	if o.Experts == "" {
		return nil, nil
	}
	clusters, err := experts.ParseMethod(o.Experts)
	if err != nil {
		return nil, err
	}
	if clusters > s.N()/2 {
		return nil, OptionErrorf("experts", o.Experts, "there are %d training rows, which is fewer than two for each cluster", s.N())
	}
	rows := s.Scalings[0].Inputs(s.X)
	p := experts.NewPartition(rows, s.N(), s.D(), experts.PartitionOptions{Clusters: clusters, MaxRows: o.ExpertRows, Combine: o.Combine, Seed: o.Settings.Seed})
	limit := o.ExpertRows
	for _, w := range []struct {
		given bool
		text  string
	}{
		{p.Split > 0, fmt.Sprintf("clusters with too many rows for one expert were divided again: there are %d experts, of up to %d rows (option expert-rows sets the limit)", len(p.Sizes), p.Largest())},
		{p.Merged > 0, fmt.Sprintf("rows of clusters that are too small for an expert went to others (%d): there are %d experts", p.Merged, len(p.Sizes))},
		{len(p.Sizes) < clusters && p.Merged == 0, fmt.Sprintf("the rows have only %d different values: there are %[1]d experts", len(p.Sizes))},
		{limit > 0 && p.Largest() > limit, fmt.Sprintf("an expert has %d rows, more than option expert-rows %d allows: its rows are the same in all columns", p.Largest(), limit)},
	} {
		if w.given {
			s.warnings = append(s.warnings, w.text)
		}
	}
	return p, nil
}

// expertMistakes lists what may be wrong with the options of local experts.
func (o Options) expertMistakes() []mistake {
	given := o.Experts != ""
	_, clusters := experts.ParseMethod(o.Experts)
	combine, parameters := o.Combine.Check(), o.ExpertParameters.Check()
	rows, own := strconv.Itoa(o.ExpertRows), string(o.ExpertParameters)
	const needs = "needs option experts"
	return []mistake{
		{!given && o.Combine != "", "combine", string(o.Combine), needs},
		{!given && o.ExpertRows != 0, "expert-rows", rows, needs},
		{!given && own != "", "expert-parameters", own, needs},
		{given && clusters != nil, "experts", strconv.Quote(o.Experts), fmt.Sprint(clusters)},
		{o.Combine != "" && combine != nil, "combine", "", fmt.Sprint(combine)},
		{own != "" && parameters != nil, "expert-parameters", "", fmt.Sprint(parameters)},
		{o.ExpertParameters == experts.Separate && o.Posterior != "", "posterior", string(o.Posterior), "needs parameters that all experts share; use option expert-parameters shared"},
		{o.ExpertRows < 0, "expert-rows", rows, "must not be negative"},
		{given && o.Objective.LeavesFoldsOut(), "objective", string(o.Objective), "local experts have no covariance between folds of rows; use option objective nlml or loo"},
	}
}

// LargestMatrix returns the number of rows of the largest matrix of the job: all rows, or
// those of the largest local expert.
func (j *Prepared) LargestMatrix() int {
	if j.Experts == nil {
		return j.N()
	}
	return j.Experts.Largest()
}

// Separate reports whether the local experts have parameters of their own. [Prepared.Part]
// then returns their problems.
func (j *Prepared) Separate() bool {
	return j.Options.ExpertParameters == experts.Separate && len(j.Experts.Centres) > 1
}

// SharedParameters returns an error if experts have parameters of their own, for results that
// need one set of parameters.
func (j *Prepared) SharedParameters(what string) error {
	if !j.Separate() {
		return nil
	}
	return OptionErrorf("expert-parameters", string(experts.Separate), "%s need parameters that all experts share; use option expert-parameters shared", what)
}

// Part returns the problem of the expert with these training rows, in the scaling of all.
func (j *Prepared) Part(rows []int) (*Prepared, error) {
	o, s := j.Options, j.Sample.WithRows(rows)
	s.warnings, s.TestX, s.TestY, s.TestNoise = nil, nil, nil, gp.RowNoise{}
	if !j.Model.DeterminedBy(s) {
		return nil, OptionErrorf("mean", "", "the rows do not determine its coefficients; use a simpler mean function, fewer experts, or option expert-parameters shared")
	}
	p, err := newParameters(s, j.Model, o)
	if err != nil {
		return nil, err
	}
	o.Settings.Metric = p.metricFrom(o.From, s.N())
	o.Experts, o.Combine, o.ExpertRows, o.ExpertParameters, o.Checkpoint = "", "", 0, "", ""
	return &Prepared{Options: o, Sample: s, Model: j.Model, Params: p}, nil
}
