package starts

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"

	"gpfit/fit/internal/spectrum"
	"gpfit/fit/internal/spread"
	"gpfit/fit/problem"
	"gpfit/kernel"
)

// firstSchemes is the number of schemes that take part without restarts.
const firstSchemes = 7

// Of returns the starts that the data suggest, as a problem of package hyperopt does.
func Of(j *problem.Prepared) (starts [][]float64, first int) {
	given := j.Params.Start()
	o := newOutlook(j, given)
	at := o.at(variancesOfData(j))
	for _, c := range schemes {
		z := at(c)
		if !slices.ContainsFunc(append(starts, given), func(o []float64) bool { return slices.Equal(o, z) }) {
			starts = append(starts, z)
		}
	}
	first = min(firstSchemes, len(starts))
	alone := o.alone(at)
	return slices.Insert(starts, first, alone...), first + len(alone)
}

// variancesOfData returns the start values, but for variances of the kernel their defaults: an option may
// set one from which every descent leads to only noise.
func variancesOfData(j *problem.Prepared) []float64 {
	z := j.Params.Start()
	defaults := problem.DefaultParameters(j.Sample, j.Model)
	for _, p := range j.Program().Params {
		for i, q := range j.Params.Free {
			if p.Units.Target == 0 || q.Group != p.Name || !q.Given || q.Fixed {
				continue
			}
			for _, d := range defaults {
				if d.Indexed == q.Indexed {
					z[i] = within(q.Parameter, d.Start)
				}
			}
		}
	}
	return z
}

// aloneSchemes are the schemes from which a term of a sum begins alone. The share of the other terms in
// the noise is aloneRest, and mostAlone is the largest number of such terms.
var aloneSchemes = []scheme{schemes[2], schemes[3]}

const (
	aloneRest = 0.1
	mostAlone = 4
)

// alone returns starts in which one term of a sum explains the data without the others: the sum
// contains each of its terms, and should not end above the optimum of one.
func (o *outlook) alone(at func(scheme) []float64) (starts [][]float64) {
	if len(o.terms) == 1 {
		return nil
	}
	for a, t := range o.terms[:min(mostAlone, len(o.terms))] {
		for _, c := range aloneSchemes {
			d := draft{o, at(c)}
			for b, s := range o.terms {
				if b != a {
					d.resize(s, aloneRest*noiseLevels[c.noise]*o.variance/d.size(s))
				}
			}
			d.resize(t, o.variance/d.size(t))
			starts = append(starts, d.z)
		}
	}
	return starts
}

// Alternatives returns other points to try, as a problem of package hyperopt does: two terms with their
// lengthscales exchanged, other sizes and lengthscales of a term that explains nothing or of one that
// equals another, and other lengthscales of a column; and, far away, the periods of a scan.
func Alternatives(j *problem.Prepared, z []float64) (near, far [][]float64) {
	o := newOutlook(j, z)
	o.exchanges()
	o.revivals()
	o.splits()
	o.columns()
	near, o.points = o.points, nil
	o.scans()
	return near, o.points
}

// scanNoise is the least noise with which periods are compared, as a share of the targets' variance.
const scanNoise = 0.01

// scans adds the periods of each leaf at which the likelihood over few rows is lowest. The other terms
// are as they are, and then small. The likelihood has an optimum near many periods.
func (o *outlook) scans() {
	noise := max(o.noiseVariance(), scanNoise*o.variance)
	for a, t := range o.terms {
		o.each(t, kernel.Period, func(p kernel.Param, _, i int) {
			if o.Params.Free[i].Fixed {
				return
			}
			scan := spectrum.NewScan(o.Program(), o.Sample.Points, o.Sample.Targets)
			base := o.draft()
			base.resize(t, max(1, o.variance/2/base.size(t)))
			base.scan(scan, t, p, i, noise)
			for b, s := range o.terms {
				if b != a {
					base.resize(s, aloneRest*noise/base.size(s))
				}
			}
			if len(o.terms) > 1 {
				base.scan(scan, t, p, i, noise)
			}
		})
	}
}

// scan adds drafts with other periods of the parameter with this index.
func (d draft) scan(s *spectrum.Scan, t kernel.Term, period kernel.Param, index int, noise float64) {
	span := spread.SmallestRange(d.Sample.Points, period.Dims)
	with := func(turns, lengthscale float64) draft {
		to := draft{d.outlook, slices.Clone(d.z)}
		to.set(index, span/turns)
		to.waves(t, period, func(i int) { to.set(i, lengthscale) })
		return to
	}
	s.Theta = func(turns, lengthscale float64) []float64 {
		return d.Params.Values(with(turns, lengthscale).z)[:d.Program().NumParams]
	}
	for _, c := range s.Lowest(noise) {
		to := with(c.Turns, c.Lengthscale)
		for _, u := range d.terms {
			to.resize(u, c.Scale)
		}
		if own := d.noiseVariance(); own > 0 {
			to.noise(c.Noise * c.Scale / own)
		}
		to.keep()
	}
}

// exchanges exchanges the lengthscales and sizes of two terms.
func (o *outlook) exchanges() {
	for a, s := range o.terms {
		for b, t := range o.terms[:a] {
			la, lb := o.lengthscale(s), o.lengthscale(t)
			if la == 0 || lb == 0 || s.Program.Text == t.Program.Text || math.Abs(math.Log(la/lb)) < math.Ln2 {
				continue
			}
			d := o.draft()
			o.each(s, kernel.Lengthscale, func(_ kernel.Param, _, i int) { d.scale(i, lb/la) })
			o.each(t, kernel.Lengthscale, func(_ kernel.Param, _, i int) { d.scale(i, la/lb) })
			d.resize(s, o.sizes[b]/o.sizes[a])
			d.resize(t, o.sizes[a]/o.sizes[b])
			d.keep()
		}
	}
}

// A term explains nothing if its mean variance is at most negligible in units of the noise variance,
// or of leastNoise of the targets' variance. It is revived with a half of the noise, or with
// almost all, for which the noise keeps restNoise, if it changes as fast as noise.
const (
	negligible = 0.01
	leastNoise = 1e-4
	restNoise  = 0.1
)

// loud are sizes of a kernel that explained nothing, in units of the targets' variance: a long
// lengthscale, such as a fixed one, needs a large signal variance. quiet is the noise with them.
var loud = []float64{1, 100, 1e4}

const quiet = 0.01

// revivals gives a term that explains nothing a size again, with each level of lengthscales.
func (o *outlook) revivals() {
	noise := o.noiseVariance()
	if noise == 0 {
		return
	}
	small := max(noise, leastNoise*o.variance)
	for a, t := range o.terms {
		if o.sizes[a] > negligible*small {
			continue
		}
		if len(o.terms) == 1 {
			for _, size := range loud {
				d := o.draft()
				d.resize(t, size*o.variance/d.size(t))
				d.noise(quiet * o.variance / noise)
				d.keep()
			}
			return
		}
		for _, level := range []int{nearest, short, long} {
			d := o.draft()
			found := false
			o.each(t, kernel.Lengthscale, func(p kernel.Param, e, i int) {
				found = true
				d.set(i, o.levels()[p.ElementNames()[e]].values[level])
			})
			o.each(t, kernel.Period, func(p kernel.Param, _, i int) {
				found = true
				if v := o.periods()[p.Name].values; len(v) > 0 {
					d.set(i, v[min(level, len(v)-1)])
				}
				d.waves(t, p, func(i int) { d.set(i, 1) })
			})
			size, rest := small/2, 0.5
			if level == nearest {
				size, rest = small, restNoise
			}
			d.resize(t, size/d.size(t))
			d.noise(rest)
			if level == short || found {
				d.keep()
			}
		}
	}
}

// equal is the largest difference of logarithms of two equal parameters.
const equal = 0.01

// splits separates two terms that are equal.
func (o *outlook) splits() {
	for a, s := range o.terms {
		for b, t := range o.terms[:a] {
			if !o.alike(s, t) || o.sizes[a] == 0 || o.sizes[b] == 0 {
				continue
			}
			for _, factor := range []float64{0.2, 5} { // a fifth of the variance moves away
				d := o.draft()
				o.each(s, kernel.Lengthscale, func(_ kernel.Param, _, i int) { d.scale(i, factor) })
				o.each(s, kernel.Period, func(_ kernel.Param, _, i int) { d.scale(i, factor) })
				d.resize(s, 0.2)
				d.resize(t, 1+0.8*o.sizes[a]/o.sizes[b])
				d.keep()
			}
		}
	}
}

// alike reports whether two terms have the same form and equal parameters but for their sizes.
func (o *outlook) alike(s, t kernel.Term) bool {
	if s.Program.Text != t.Program.Text || len(s.Params) == 1 {
		return false
	}
	for k, p := range s.Program.Params {
		q := t.Program.Params[k]
		for e := range p.Size {
			i, j := o.Params.All[s.Params[p.Offset+e]].Index, o.Params.All[t.Params[q.Offset+e]].Index
			if p.Units.Target == 0 && math.Abs(o.z[i]-o.z[j]) > equal {
				return false
			}
		}
	}
	return true
}

// A second optimum often calls more or less of the targets noise: the factors of a lengthscale and
// of the noise to the rougher one, and of both to the smoother one. mostColumns is the largest
// number of columns with alternatives.
const (
	rougher, lessNoise = 0.4, 0.5
	smoother           = 3
	mostColumns        = 3
	// fineWave is the lengthscale that a column without effect is tried with, in units of the shortest
	// other one, because fine waves along it may count as noise; mostIdle limits such columns.
	fineWave = 0.12
	mostIdle = 6
	// A column whose values have nothing in common, because its lengthscale is below apart of a long
	// one, is tried with that.
	apart = 0.1
	// samePlace is the correlation from which a column without effect is tried in the place of another.
	samePlace = 0.6
)

// lengthscale is a lengthscale by its index in the vector, with its column, −1 for several.
type lengthscale struct{ index, column int }

// columns gives columns with and without effect other lengthscales, term by term.
func (o *outlook) columns() {
	limits := Limits(o.Prepared)(o.z)
	for _, t := range o.terms {
		var in, out []lengthscale
		o.each(t, kernel.Lengthscale, func(p kernel.Param, e, i int) {
			l := lengthscale{i, -1}
			if p.Vector {
				l.column = p.Dims[e]
			}
			switch {
			case o.Params.Free[i].Fixed:
			case o.z[i] < limits[i]:
				in = append(in, l)
			case p.Vector && !math.IsInf(limits[i], 1):
				out = append(out, l)
			}
		})
		if len(in) > 0 {
			slices.SortStableFunc(in, func(a, b lengthscale) int { return cmp.Compare(o.z[a.index], o.z[b.index]) })
			o.tryIdle(in, out)
			o.change(in)
		}
	}
}

// tryIdle tries columns without effect with fine waves, and in the place of a column that says the same.
func (o *outlook) tryIdle(in, out []lengthscale) {
	for _, l := range out[:min(mostIdle, len(out))] {
		d := o.draft()
		d.set(l.index, fineWave*math.Exp(o.z[in[0].index]))
		d.noise(1.0 / 2)
		d.keep()
		place, most := -1, samePlace
		for _, a := range in {
			if a.column >= 0 {
				r := stat.Correlation(o.Sample.Points.Column(l.column), o.Sample.Points.Column(a.column), nil)
				if math.Abs(r) > most {
					place, most = a.index, math.Abs(r)
				}
			}
		}
		if place >= 0 {
			o.exchange(place, l.index)
		}
	}
}

// exchange exchanges two lengthscales.
func (o *outlook) exchange(a, b int) {
	d := o.draft()
	d.set(a, math.Exp(o.z[b]))
	d.set(b, math.Exp(o.z[a]))
	d.keep()
}

// change varies the lengthscales of columns with an effect, which ascend.
func (o *outlook) change(in []lengthscale) {
	for k, a := range in[:min(mostColumns, len(in))] {
		d := o.draft()
		d.scale(a.index, rougher)
		d.noise(lessNoise)
		d.keep()
		for _, b := range in[:k] {
			o.exchange(a.index, b.index)
		}
	}
	d := o.draft()
	for _, a := range in {
		d.scale(a.index, smoother)
	}
	d.noise(smoother)
	d.keep()
	first, last := in[0], in[len(in)-1]
	// A lengthscale that is tied to another parameter has no level.
	if l := o.levels()[o.Params.Free[first.index].Indexed]; l != nil && math.Exp(o.z[first.index]) < apart*l.values[median] {
		d := o.draft()
		d.set(first.index, l.values[median])
		d.keep()
	}
	if len(in) > 1 && last.column >= 0 {
		d := o.draft()
		d.set(last.index, math.Inf(1))
		d.keep()
	}
}
