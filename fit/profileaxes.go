package fit

import (
	"cmp"
	"math"
	"slices"
	"strconv"

	"gpfit/fit/problem"
	"gpfit/fit/summary"
	"gpfit/graph"
	"gpfit/internal/each"
	"gpfit/internal/matrixrows"
	"gpfit/kernel"
)

// The default numbers of points along each parameter, and the largest number of points of a
// profile in all.
const (
	DefaultCurvePoints   = 41
	DefaultContourPoints = 21
	DefaultFitsPoints    = 3 // within a given range
	maxProfilePoints     = 250_000
)

// ProfileOptions configures [Profile]. The zero value shows a curve for each free parameter.
type ProfileOptions struct {
	Show   summary.ProfileShow
	Others summary.ProfileOthers
	// Along names the parameters; a vector stands for its elements. Nil means all free ones for
	// curves, and a lengthscale and a noise variance for a contour or for fits.
	Along []string
	// Ranges gives the values between which parameters move, in natural units of the scaled
	// problem: without one by some standard errors around the best optimum, as far as the other
	// optima and a little beyond, within the bounds.
	Ranges []problem.Interval
	// Points is the number of points along each parameter, equally spaced, of positive ones on
	// a logarithmic scale. A curve also has one at each optimum. 0 means 41 for curves and 21
	// for a contour; for fits the best three optima and a value beyond them on each side, or
	// three points within a given range.
	Points int
	// OnPoint, if not nil, is called before the first point of a pass and after each one with the numbers of
	// points done and of all in this pass; more passes may follow. Calls never overlap.
	OnPoint func(done, all int)
}

// withDefaults returns the options with their defaults filled in.
func (o ProfileOptions) withDefaults() (ProfileOptions, error) {
	o.Show, o.Others = cmp.Or(o.Show, summary.ProfileCurves), cmp.Or(o.Others, summary.OthersTuned)
	switch {
	case !slices.Contains(summary.ProfileShows(), o.Show):
		return o, problem.OptionErrorf("show", strconv.Quote(string(o.Show)), "must be curves, contour or fits")
	case !slices.Contains(summary.ProfileOtherses(), o.Others):
		return o, problem.OptionErrorf("others", strconv.Quote(string(o.Others)), "must be tuned or held")
	case o.Points < 0 || o.Points == 1:
		return o, problem.OptionErrorf("points", strconv.Itoa(o.Points), "must be at least 2")
	}
	o.Points = cmp.Or(o.Points, map[summary.ProfileShow]int{summary.ProfileCurves: DefaultCurvePoints, summary.ProfileContour: DefaultContourPoints}[o.Show])
	return o, nil
}

// A range without a given one is this wide, in logarithms to each side of the best optimum:
// rangeErrors standard errors, but from rangeLeast to rangeMost, and rangeUnknown without a
// standard error. rangeBeyond is how far it goes beyond the other optima.
const (
	rangeErrors  = 5
	rangeUnknown = 3.4 // a factor of 30
	rangeBeyond  = 1.6 // a factor of 5
)

// Fits without a range show the best fitsOptima optima. The values beyond them are fitsErrors
// standard errors away, but in logarithms from fitsLeast to fitsMost.
const (
	fitsOptima = 3
	fitsErrors = 2.5
)

var (
	fitsLeast  = math.Log(2.5)
	fitsMost   = math.Log(8)
	rangeLeast = math.Log(1.02)
	rangeMost  = math.Log(1000)
)

// profiled returns the indices of the parameters along which the sections go, for each section.
func profiled(j *problem.Prepared, o ProfileOptions) ([][]int, error) {
	var named []int
	for _, name := range o.Along {
		found, err := j.Params.MustFind("along", name)
		if err != nil {
			return nil, err
		}
		for _, i := range found {
			if slices.Contains(named, i) {
				return nil, problem.OptionErrorf("along", name, "%s is named twice", j.Params.Free[i].Name)
			}
			named = append(named, i)
		}
	}
	if o.Show != summary.ProfileCurves {
		pair, err := profiledPair(j, o, named)
		return [][]int{pair}, err
	}
	if named == nil {
		for i, p := range j.Params.Free {
			if !p.Fixed {
				named = append(named, i)
			}
		}
	}
	if named == nil {
		return nil, problem.OptionErrorf("along", "", "all parameters are fixed; name those to move: %s", problem.Listed(j.FreeNames()))
	}
	sections := each.Of(named, func(i int) []int { return []int{i} })
	return sections, nil
}

// profiledPair returns the two parameters of a contour or of fits.
func profiledPair(j *problem.Prepared, o ProfileOptions, named []int) ([]int, error) {
	if named == nil {
		named = usualPair(j)
	}
	if len(named) != 2 {
		names := each.Of(named, func(i int) string { return j.Params.Free[i].Name })
		if len(names) == 0 {
			names = []string{"none"}
		}
		return nil, problem.OptionErrorf("along", "", "%s needs two parameters, not %s; this model has %s", o.Show, problem.Listed(names), problem.Listed(j.FreeNames()))
	}
	return named, nil
}

// usualPair returns the first lengthscale and the first noise variance, or what else is not fixed.
func usualPair(j *problem.Prepared) []int {
	var scale, noise, rest []int
	for i, p := range j.Params.Free {
		kind, _ := scaleOf(j, i)
		switch {
		case p.Fixed:
		case kind == kernel.Lengthscale && scale == nil:
			scale = []int{i}
		case p.Group == graph.NoiseVariance && noise == nil:
			noise = []int{i}
		default:
			rest = append(rest, i)
		}
	}
	all := slices.Concat(scale, noise, rest)
	return all[:min(2, len(all))]
}

// optionRanges returns the given ranges by the index of their parameter. Each must belong
// to a parameter of a section.
func optionRanges(j *problem.Prepared, o ProfileOptions, sections [][]int) (map[int]problem.Interval, error) {
	moved := slices.Concat(sections...)
	out := map[int]problem.Interval{}
	for _, r := range o.Ranges {
		found, err := j.Params.MustFind("range", r.Name)
		if err != nil {
			return nil, err
		}
		for _, i := range found {
			p := j.Params.Free[i]
			switch {
			case !slices.Contains(moved, i):
				return nil, problem.OptionErrorf("range", r.String(), "the profile does not move %s; name it with option along", p.Name)
			case p.Log && !(r.Lo > 0 && r.Lo < r.Hi) || !(r.Lo < r.Hi) || math.IsInf(r.Hi-r.Lo, 0):
				return nil, problem.OptionErrorf("range", r.String(), "needs lower < upper, both positive numbers for parameters other than coefficients of the mean")
			}
			out[i] = r
		}
	}
	return out, nil
}

// axis returns the axis of a parameter through optima, the best of them first. se is the
// standard error of z, NaN if it is not known.
func axis(j *problem.Prepared, i int, o ProfileOptions, given map[int]problem.Interval, optima [][]float64, se float64) summary.ProfileAxis {
	p := j.Params.Free[i]
	a := summary.ProfileAxis{Name: p.Name, Log: p.Log, Index: i}
	lo, hi := automaticRange(p, i, optima, se)
	r, within := given[i]
	if within {
		lo, hi = p.Z(r.Lo), p.Z(r.Hi)
	}
	var z []float64
	switch {
	case o.Show == summary.ProfileFits && o.Points == 0 && !within:
		z = aroundOptima(p, i, optima[:min(len(optima), fitsOptima)], se)
	case o.Show == summary.ProfileFits && o.Points == 0:
		z = matrixrows.Spaced(lo, hi, DefaultFitsPoints)
	default:
		z = matrixrows.Spaced(lo, hi, o.Points)
	}
	if o.Show == summary.ProfileCurves {
		for _, at := range optima {
			if lo < at[i] && at[i] < hi {
				z = append(z, at[i])
			}
		}
		slices.Sort(z)
		z = slices.CompactFunc(z, func(a, b float64) bool { return math.Abs(a-b) <= 1e-12*max(1, math.Abs(a)) })
	}
	for _, v := range z {
		a.Values = append(a.Values, p.Natural(v))
	}
	if within { // without rounding
		a.Values[0], a.Values[len(z)-1] = r.Lo, r.Hi
	}
	return a
}

// reach returns a number of standard errors, of a logarithm within limits, or unknown.
func reach(q *problem.Parameter, se, count, least, most, unknown float64) float64 {
	switch {
	case !(se > 0):
		return unknown
	case !q.Log:
		return count * se
	}
	return min(max(count*se, least), most)
}

// aroundOptima returns the values of z at optima that differ from one another, and one
// beyond them on each side, within the bounds.
func aroundOptima(q *problem.Parameter, i int, optima [][]float64, se float64) []float64 {
	step := reach(q, se, fitsErrors, fitsLeast, fitsMost, fitsMost)
	var out []float64
	for _, z := range optima {
		if !slices.ContainsFunc(out, func(v float64) bool { return math.Abs(v-z[i]) < step/5 }) {
			out = append(out, z[i])
		}
	}
	slices.Sort(out)
	lo, hi := out[0]-step, out[len(out)-1]+step
	if lower := q.Z(q.Lower); lower < out[0] {
		out = append([]float64{max(lo, lower)}, out...)
	}
	if upper := q.Z(q.Upper); upper > out[len(out)-1] {
		out = append(out, min(hi, upper))
	}
	return out
}

// automaticRange returns the range of z around optima, within the bounds.
func automaticRange(q *problem.Parameter, i int, optima [][]float64, se float64) (lo, hi float64) {
	best := optima[0][i]
	unknown := rangeUnknown
	if !q.Log {
		unknown = max(1, math.Abs(best))
	}
	half := reach(q, se, rangeErrors, rangeLeast, rangeMost, unknown)
	lo, hi = best-half, best+half
	for _, z := range optima[1:] {
		lo, hi = min(lo, z[i]-rangeBeyond), max(hi, z[i]+rangeBeyond)
	}
	if lower, upper := q.Z(q.Lower), q.Z(q.Upper); lower < upper && lower <= best && best <= upper {
		lo, hi = max(lo, lower), min(hi, upper)
	}
	return lo, hi
}

// addOriginal adds the values of an axis in original units if the parameter has one value
// there that does not depend on the target. values are the natural values of all elements
// at the best optimum.
func addOriginal(j *problem.Prepared, a *summary.ProfileAxis, values []float64) {
	values = slices.Clone(values)
	at := func(v float64) problem.Converted {
		for k, e := range j.Params.All {
			if e.Index == a.Index {
				values[k] = v
			}
		}
		return j.OriginalUnits(0, values)
	}
	before, after := at(1), at(2)
	for _, name := range before.Names {
		if before.Values[name] == after.Values[name] {
			continue
		}
		if _, shared := inOriginalUnits(j, values)[name]; a.OriginalName != "" || !shared {
			a.OriginalName = ""
			return
		}
		a.OriginalName = name
	}
	if a.OriginalName == "" {
		return
	}
	for _, v := range a.Values {
		a.OriginalUnits = append(a.OriginalUnits, at(v).Values[a.OriginalName])
	}
}

// checkProfileSize returns an error if a profile would have too many points.
func checkProfileSize(o ProfileOptions, sections [][]int) error {
	all := 0.0
	for _, s := range sections {
		all += math.Pow(float64(max(o.Points, DefaultFitsPoints)), float64(len(s)))
	}
	if all > maxProfilePoints {
		return problem.OptionErrorf("points", strconv.Itoa(o.Points), "makes %.0f points in all, at most %d are possible", all, maxProfilePoints)
	}
	return nil
}

// checkFits returns an error if predictions along one column cannot be shown.
func checkFits(j *problem.Prepared) error {
	switch {
	case j.Sample.D() != 1:
		return problem.OptionErrorf("show", string(summary.ProfileFits), "shows predictions along one input column, but this table has %d: name one with option features, or show the contour", j.Sample.D())
	case j.Sample.T() > 1:
		return problem.OptionErrorf("show", string(summary.ProfileFits), "shows predictions of one target, but there are %d: name one with option target", j.Sample.T())
	}
	return nil
}
