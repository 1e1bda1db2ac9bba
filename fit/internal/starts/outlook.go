package starts

import (
	"math"
	"slices"
	"sync"

	"gpfit/fit/problem"
	"gpfit/graph"
	"gpfit/hyperopt/descent"
	"gpfit/kernel"
)

// outlook is an optimum with the alternatives to it.
type outlook struct {
	*problem.Prepared
	z        []float64
	terms    []kernel.Term
	sizes    []float64 // mean variance of each term over the rows
	variance float64   // of the targets
	points   [][]float64
	// levels and periods are suggestions of the data, computed once if they are needed.
	levels  func() map[string]*leafLevels
	periods func() map[string]*leafPeriods
}

func newOutlook(j *problem.Prepared, z []float64) *outlook {
	s, prog := j.Sample, j.Program()
	o := &outlook{
		Prepared: j, z: z, terms: j.Model.Terms, variance: j.Model.TargetVariance(s),
		levels:  sync.OnceValue(func() map[string]*leafLevels { return lengthscaleStarts(s.Points, s.Targets, prog) }),
		periods: sync.OnceValue(func() map[string]*leafPeriods { return periodStarts(s.Points, s.Targets, prog) }),
	}
	theta := j.Params.Values(z)[:prog.NumParams]
	for _, t := range o.terms {
		o.sizes = append(o.sizes, problem.MeanVariance(t.Program, t.Theta(theta), s.Points))
	}
	return o
}

// draft is an alternative in the making.
type draft struct {
	*outlook
	z []float64
}

func (o *outlook) draft() draft { return draft{o, slices.Clone(o.z)} }

// keep adds the draft to the alternatives unless it equals the optimum or one of them.
func (d draft) keep() {
	same := func(z []float64) bool { return slices.Equal(z, d.z) }
	if !same(d.outlook.z) && !slices.ContainsFunc(d.points, same) {
		d.outlook.points = append(d.outlook.points, d.z)
	}
}

// scale multiplies the parameter of the vector with this index.
func (d draft) scale(i int, factor float64) {
	if q := d.Params.Free[i]; !q.Fixed {
		d.z[i] = within(q.Parameter, q.Natural(d.z[i])*factor)
	}
}

// set gives the parameter of the vector with this index a value.
func (d draft) set(i int, v float64) {
	if q := d.Params.Free[i]; !q.Fixed {
		d.z[i] = within(q.Parameter, v)
	}
}

// noise multiplies the noise variances.
func (d draft) noise(factor float64) {
	for i, q := range d.Params.Free {
		if q.Group == graph.NoiseVariance {
			d.scale(i, factor)
		}
	}
}

// resize multiplies the mean variance of a term.
func (d draft) resize(t kernel.Term, factor float64) {
	for _, p := range t.Program.Params {
		for i := range p.Size {
			if p.Units.Target != 0 {
				d.scale(d.Params.All[t.Params[p.Offset+i]].Index, math.Pow(factor, p.Units.Target/2))
			}
		}
	}
}

// noiseVariance returns the mean of the noise variances.
func (o *outlook) noiseVariance() float64 {
	sum, count := 0.0, 0
	for i, q := range o.Params.Free {
		if q.Group == graph.NoiseVariance {
			sum, count = sum+q.Natural(o.z[i]), count+1
		}
	}
	return sum / max(1, float64(count))
}

// each calls do with every parameter of a term of a kind, and its index in the vector.
func (o *outlook) each(t kernel.Term, kind kernel.Kind, do func(p kernel.Param, element, i int)) {
	for _, p := range t.Program.Params {
		for e := range p.Size {
			if p.Kind == kind {
				do(p, e, o.Params.All[t.Params[p.Offset+e]].Index)
			}
		}
	}
}

// waves calls do with the index of the lengthscale of the leaf of a period.
func (d draft) waves(t kernel.Term, period kernel.Param, do func(i int)) {
	d.each(t, kernel.Shape, func(p kernel.Param, _, i int) {
		if leafOf(p) == leafOf(period) {
			do(i)
		}
	})
}

// size returns the mean variance of a term at the draft.
func (d draft) size(t kernel.Term) float64 {
	return max(problem.MeanVariance(t.Program, t.Theta(d.Params.Values(d.z)[:d.Program().NumParams]), d.Sample.Points), 1e-300)
}

// lengthscale returns the geometric mean of the lengthscales of a term, 0 if it has none.
func (o *outlook) lengthscale(t kernel.Term) float64 {
	sum, count := 0.0, 0
	o.each(t, kernel.Lengthscale, func(_ kernel.Param, _, i int) { sum, count = sum+o.z[i], count+1 })
	if count == 0 {
		return 0
	}
	return math.Exp(sum / float64(count))
}

// within returns the element of the vector for a natural value, moved within the bounds.
func within(q descent.Parameter, v float64) float64 {
	return min(max(q.Z(v), q.Z(q.Lower)), q.Z(q.Upper))
}
