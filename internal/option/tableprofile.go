package option

import (
	"fmt"

	"gpfit/fit"
	"gpfit/fit/problem"
	"gpfit/fit/summary"
)

func profileOptions() Entries {
	places := []string{"profile"}
	return Entries{
		{Name: "show", Kind: Choice, Group: Profile, Places: places, Default: string(summary.ProfileCurves), Words: words(summary.ProfileShows()...),
			Help:   "what to show: curves, the objective along each parameter; contour, over two parameters; or fits, the predictions for each pair of values of two parameters",
			Assign: word(func(v *Values) *summary.ProfileShow { return &v.Profile.Show })},
		{Name: "along", Kind: Names, Group: Profile, Places: places, Unset: "all free parameters, or a lengthscale and a noise variance for a contour and for fits",
			Help:   "parameter to move, such as noise_variance or 'lengthscale[temp]'; a vector stands for all its elements",
			Assign: into(func(v *Values) *[]string { return &v.Profile.Along })},
		{Name: "range", Kind: Intervals, Group: Profile, Places: places, Unit: "scaled units", Unset: "a few standard errors around the optimum",
			Help:   "values between which a parameter moves",
			Assign: into(func(v *Values) *[]problem.Interval { return &v.Profile.Ranges })},
		{Name: "points", Kind: Whole, Group: Profile, Places: places, NoVariable: true,
			Unset:  fmt.Sprintf("%d for curves, %d for a contour, for fits the optima and a value on each side", fit.DefaultCurvePoints, fit.DefaultContourPoints),
			Help:   "number of points along each parameter; positive parameters have a logarithmic scale, and a curve also has a point at each optimum",
			Assign: into(func(v *Values) *int { return &v.Profile.Points })},
		{Name: "others", Kind: Choice, Group: Profile, Places: places, Default: string(summary.OthersTuned), Words: words(summary.ProfileOtherses()...),
			Help:   "what the other parameters do: tuned, they minimize the objective at each point; or held, they stay where the fit ended",
			Assign: word(func(v *Values) *summary.ProfileOthers { return &v.Profile.Others })},
	}
}
