package problem

import (
	"gpfit/gp"
	"gpfit/method/experts"
)

// LargestMatrix returns the number of rows of the largest matrix of the job: all rows,
// or the rows of the largest local expert.
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

// NumFitted returns the number of parameters that a fit finds, including the
// coefficients of a mean by least squares.
func (j *Prepared) NumFitted() int {
	n := j.Params.NumFree()
	if !j.Model.MeanFree {
		n += len(j.Model.Basis)
	}
	if j.Separate() {
		n *= len(j.Experts.Centres)
	}
	return n
}
