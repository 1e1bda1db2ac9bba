package fit

import (
	"slices"
	"strconv"

	"gpfit/fit/problem"
	"gpfit/fit/summary"
)

// The default numbers of points along each parameter, and the largest number of points of a
// profile in all.
const (
	DefaultCurvePoints   = 41
	DefaultContourPoints = 21
	DefaultFitsPoints    = 3 // within a given range
	maxProfilePoints     = 250_000
)

// ProfileOptions configures [Profile]. The zero value shows a curve for each free
// parameter.
type ProfileOptions struct {
	Show   summary.ProfileShow
	Others summary.ProfileOthers
	// Along names the parameters. A vector stands for its elements. Nil means all free
	// parameters for curves, and a lengthscale and a noise variance for a contour or for
	// fits.
	Along []string
	// Ranges gives the values between which parameters move, in natural units of the
	// scaled problem. Without one a parameter moves by some standard errors around the
	// best optimum, as far as the others and a little beyond, within its bounds.
	Ranges []problem.Interval
	// Points is the number of points along each parameter; 0 means 41 for curves and 21 for a
	// contour. They are equally spaced, positive parameters on a logarithmic scale. A curve
	// also has a point at each optimum. For fits, 0 means the best three optima and a value
	// beyond them on each side, or three points within a given range.
	Points int
	// OnPoint, if not nil, is called before the first point and after each one with the
	// numbers of points done and of all. Points that are tuned again from their neighbours
	// count again, so the second number grows. Calls never overlap.
	OnPoint func(done, all int)
}

// withDefaults returns the options with their defaults filled in.
func (o ProfileOptions) withDefaults() (ProfileOptions, error) {
	if o.Show == "" {
		o.Show = summary.ProfileCurves
	}
	if o.Others == "" {
		o.Others = summary.OthersTuned
	}
	switch {
	case !slices.Contains(summary.ProfileShows(), o.Show):
		return o, problem.OptionErrorf("show", strconv.Quote(string(o.Show)), "must be curves, contour or fits")
	case !slices.Contains(summary.ProfileOtherses(), o.Others):
		return o, problem.OptionErrorf("others", strconv.Quote(string(o.Others)), "must be tuned or held")
	case o.Points < 0 || o.Points == 1:
		return o, problem.OptionErrorf("points", strconv.Itoa(o.Points), "must be at least 2")
	}
	if o.Points == 0 {
		o.Points = map[summary.ProfileShow]int{summary.ProfileCurves: DefaultCurvePoints, summary.ProfileContour: DefaultContourPoints}[o.Show]
	}
	return o, nil
}
