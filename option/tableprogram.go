package option

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"gpfit/fit"
	"gpfit/fit/problem"
	"gpfit/fit/summary"
	"gpfit/gp"
	"gpfit/internal/matrixrows"
	"gpfit/internal/textform"
	"gpfit/method/experts"
)

// programOptions are the options of single commands that come before the others in help texts.
func programOptions() Entries {
	bench, devices := []string{"bench"}, []string{"devices"}
	return Entries{
		{Name: "version", Short: "V", Kind: Truth, Group: General, Field: "Version", Places: []string{Program}, NoVariable: true,
			Help: "print the version"},
		{Name: "n", Kind: Wholes, Group: Measuring, Field: "Bench.Rows", Places: bench, Default: "1000,2000,4000",
			Help:  "numbers of rows; each measurement takes the first n rows of the table",
			check: atLeast(2, "a model needs at least 2 rows")},
		{Name: "data", Kind: File, Group: Measuring, Field: "Bench.Table", Places: bench, Placeholder: "FILE", Unset: "a synthetic table from option d and option seed",
			Help: "file with the table"},
		{Name: "d", Kind: Whole, Group: Measuring, Field: "Bench.Columns", Places: bench, Default: "8", Least: 1, Most: maxBenchColumns,
			Rules: []Constraint{{Excludes: []string{"data"}, Text: "option d is for a synthetic table: leave it out with option data"}},
			Help:  "number of columns of the synthetic table"},
		{Name: "repeat", Kind: Whole, Group: Measuring, Field: "Bench.Repeat", Places: bench, Default: "5", Least: 1, Most: maxRepeat,
			Help: "number of timed evaluations of each kind; gpfit shows their median"},
		{Name: "calibrate", Kind: Truth, Group: Device, Field: "Compute.Calibrate", Places: devices,
			Help: "measure again from which number of rows on a GPU is faster than the CPU, and remember it"},
		{Name: "test", Kind: Truth, Group: Device, Field: "Compute.Test", Places: devices,
			Help: "open the device, or the CPU and all GPUs, and compare a GPU's results with the CPU's, and the CPU's with those of device gonum; a failure has the exit code 12"},
		{Name: "n", Kind: Wholes, Group: Device, Field: "Compute.Sizes", Places: devices, Default: "500,2000,5000,10000", Least: 1,
			Help: "numbers of points for option test, as far as memory and time permit"},
		{Name: "from", Kind: File, Group: Tuning, Field: "From", Places: []string{"fit", "profile"}, Placeholder: "FILE",
			Help: "model to start from: columns, kernel, mean, noise, ties, priors and start values that the options do not give"},
		{Name: "retune", Kind: Truth, Group: Tuning, Field: "Retune", Places: []string{"update"},
			Help: "tune the parameters on all rows, starting from those of MODEL"},
	}
}

// kernelOptions are the options of gpfit kernel, and the options of gpfit sample that
// replace MODEL and DATA.
func kernelOptions() Entries {
	check, show, sample := []string{"kernel check"}, []string{"kernel show"}, []string{"sample"}
	start := func(places []string, group Group, help string, rules ...Constraint) Option {
		return Option{Name: "set", Kind: Starts, Group: group, Field: "Fit.Set", Places: places, NoVariable: true, Rules: rules, Help: help,
			check: func(value any) error {
				if value.([]problem.Assignment)[0].Value < 0 {
					return errors.New("must be a positive number")
				}
				return nil
			}}
	}
	return Entries{
		{Name: "points", Kind: Whole, Group: Points, Field: "Kernel.Points", Places: check, Default: "300", Least: 1, Most: maxCheckPoints,
			Help: "largest number of points; the time grows with its cube"},
		{Name: "draws", Kind: Whole, Group: Points, Field: "Kernel.Draws", Places: check, Default: "4", Most: maxCheckDraws,
			Help: "number of random parameter vectors around the start values"},
		{Name: "columns", Kind: Whole, Group: Points, Field: "Kernel.Columns", Places: check, Default: "3", Least: 1, Most: maxCheckColumns,
			Help: "number of columns of random points, without DATA"},
		{Name: "matrix", Kind: File, Group: Points, Field: "Kernel.Matrix", Places: check, Placeholder: "FILE", Rules: []Constraint{{Excludes: []string{"table"}}},
			Help: "check the square matrix in a file, the values at all pairs of points"},
		{Name: "table", Kind: File, Group: Points, Field: "Kernel.Table", Places: check, Placeholder: "FILE",
			Help: "check the values in a file, with columns for x, x' and k(x, x')"},
		{Name: "tolerance", Kind: Number, Group: Points, Field: "Kernel.Tolerance", Places: check, NoVariable: true, Placeholder: "SHARE", Unset: "rounding in double precision",
			Rules: []Constraint{{Needs: []string{"matrix", "table"}, Text: "option tolerance needs option matrix or option table: gpfit knows the rounding of its own values"}},
			Help:  "relative rounding error of the values of option matrix or option table, a share of the largest",
			check: func(value any) error {
				if value.(float64) >= 1 {
					return errors.New("must be a number from 0 to 1, such as 1e-6 for six digits")
				}
				return nil
			}},
		start(show, Points, "value of a parameter"),
		{Name: "range", Kind: parsed(Text, orNone(parseRange)), Group: Points, Field: "Kernel.Range", Places: show, Placeholder: "LO:HI",
			Help: "range of x; distances go from 0 to HI"},
		{Name: "columns", Kind: Whole, Group: Points, Field: "Kernel.Columns", Places: show, Default: "1", Least: 1, Most: maxShowColumns,
			Help: "number of columns of x"},
		{Name: "along", Kind: Whole, Group: Points, Field: "Kernel.Along", Places: show, Default: "0",
			Help: "index of the column along which x changes"},
		{Name: "draws", Kind: Whole, Group: Points, Field: "Kernel.Draws", Places: show, Default: "5", Most: maxShowDraws,
			Help: "number of functions to draw in the plot"},
		{Name: "seed", Kind: Seed, Group: Points, Field: "Kernel.Seed", Places: show, Default: "1",
			Help: "seed of the draws"},
		{Name: "prior", Kind: Text, Group: Prior, Field: "Sample.Prior", Places: sample, Placeholder: "EXPRESSION", NoVariable: true,
			Help: "covariance function to draw from instead of a MODEL"},
		start(sample, Prior, "parameter of option prior", Constraint{Needs: []string{"prior"}, Text: "option set needs option prior: a MODEL has its parameters"}),
		{Name: "unconditional", Kind: Truth, Group: Prior, Field: "Sample.Unconditional", Places: sample,
			Rules: []Constraint{{Excludes: []string{"prior"}, Text: "option unconditional needs a MODEL: leave it out with option prior"}},
			Help:  "draw from the model's prior"},
		{Name: "grid", Kind: parsed(Text, orNone(parseGrid)), Group: Prior, Field: "Sample.Grid", Places: sample, Placeholder: "LO:HI:COUNT",
			Help: "equally spaced rows of one feature instead of DATA"},
	}
}

// atLeast returns a check of a list of whole numbers.
func atLeast(least int, msg string) func(any) error {
	return func(value any) error {
		if value.([]int)[0] < least {
			return errors.New(msg)
		}
		return nil
	}
}

// parseRange reads LO:HI.
func parseRange(text string) ([]float64, error) {
	first, second, ok := strings.Cut(text, ":")
	lo, err := strconv.ParseFloat(first, 64)
	hi, err2 := strconv.ParseFloat(second, 64)
	if !ok || errors.Join(err, err2) != nil || !(lo < hi) || math.IsInf(hi-lo, 0) {
		return nil, errors.New("needs LO:HI with LO < HI, such as 0:5")
	}
	return []float64{lo, hi}, nil
}

// parseGrid reads LO:HI:COUNT and returns COUNT equally spaced numbers from LO to HI.
func parseGrid(text string) ([]float64, error) {
	parts := strings.Split(text, ":")
	if len(parts) != 3 {
		return nil, errors.New("needs LO:HI:COUNT")
	}
	ends, err := parseRange(parts[0] + ":" + parts[1])
	count, err2 := strconv.Atoi(parts[2])
	if errors.Join(err, err2) != nil || count < 2 || count > 1<<24 {
		return nil, errors.New("needs LO:HI:COUNT with LO < HI and a COUNT of at least 2")
	}
	return matrixrows.Spaced(ends[0], ends[1], count), nil
}

// predictOptions are the options of gpfit predict.
func predictOptions() Entries {
	places := []string{"predict"}
	flag := func(name, field, help string) Option {
		return Option{Name: name, Kind: Truth, Group: Predicting, Field: field, Places: places, Help: help}
	}
	mean := flag("mean-only", "Predict.MeanOnly", "predict only the mean, in about a hundredth of the time")
	mean.Rules = []Constraint{{Excludes: []string{"terms", "gradient", "gradient-std", "draws", "cov", "plot"}, Text: "option mean-only gives the mean alone: leave out option %s"}}
	score := flag("score", "Rows.Observed", "also compare the predictions with the targets in DATA")
	score.NoVariable = true
	return Entries{
		{Name: "interval", Kind: Numbers, Group: Predicting, Field: "Predict.Probabilities", Places: places, Default: "0.95",
			Help: "probability of the interval for a new observation; several, separated by commas, give several intervals",
			check: func(value any) error {
				if p := value.([]float64)[0]; !(p > 0 && p < 1) {
					return errors.New("must be a probability between 0 and 1, such as 0.9")
				}
				return nil
			}},
		mean, score,
		flag("terms", "Predict.Terms", "also predict each term of a sum of kernels"),
		flag("gradient", "Predict.Gradient", "also give the derivatives of the mean by the features"),
		flag("gradient-std", "Predict.GradientStd", "also give the standard deviations of the function's derivatives: 2n² operations per row and feature"),
		{Name: "posterior-draws", Kind: Whole, Group: Predicting, Field: "PosteriorDraws", Places: places, Default: strconv.Itoa(gp.MostDraws), NoVariable: true, Placeholder: "N",
			Help: "average over at most N draws of the parameters, if MODEL has them; 0 predicts with the optimum"},
		{Name: "combine", Kind: Choice, Group: Predicting, Field: "Combine", Places: places, Unset: "the rule of the fit", Words: words(experts.Rules()...), NoVariable: true,
			Help: "how the local experts of MODEL predict"},
	}
}

// plotOptions are the options of pictures.
func plotOptions() Entries {
	var all Entries
	for _, p := range []struct{ place, what string }{
		{"predict", "the predictions along one column, or the effect of each column if the rows differ in several"},
		{"sample", "prior and posterior along one column"},
		{"compare", "the fits over the only input"},
		{"path", "weights and errors against the penalty"}, {"profile", "the profile"}, {"bench", "time against n"}, {"kernel show", "k and draws"},
	} {
		all = append(all, plotOption("plot", "Plot.Path", []string{p.place}, "also plot "+p.what))
	}
	pictured := in(predictions, "compare", "path", "profile", "bench", "kernel show")
	needed := []Constraint{{Needs: []string{"plot"}}}
	sizes := plotOption("plot-sizes", "Plot.Sizes", compares, "also plot score and time against the sizes of option sizes")
	sizes.Rules = []Constraint{{Needs: []string{"sizes"}}}
	errors := plotOption("plot-errors", "Plot.Errors", compares, "also plot the RMSE of each method on training rows and on held-out rows")
	page := Option{Name: "page", Kind: File, Group: OutputFile, Field: "Plot.Page", Places: compares, Placeholder: "FILE", check: checkEnding(".html"),
		Help: "also write a page with the tables and pictures of the comparison (.html)"}
	return append(all, page,
		Option{Name: "plot-title", Kind: Text, Group: OutputFile, Field: "Plot.Title", Places: pictured, Placeholder: "TITLE", Rules: needed,
			Help: "title of the plot, instead of a sentence that says what it shows"},
		Option{Name: "size", Kind: parsed(Text, orNone(textform.ParseSize)), Group: OutputFile, Field: "Plot.Size", Places: pictured, Placeholder: "SIZE", Rules: needed,
			Help: "size of the plot in centimetres, such as 16x11, or with a unit as in 800x600px"},
		Option{Name: "plot-by", Kind: Column, Group: OutputFile, Field: "Plot.By", Places: []string{"predict"}, Placeholder: "NAME",
			Rules: append([]Constraint{{Excludes: []string{"plot-column"}, Text: "option plot-by shows the rows of DATA, and option plot-column the effect of columns: give one of them"}}, needed...),
			Help:  "plot the rows along the feature NAME"},
		Option{Name: "plot-column", Kind: Columns, Group: OutputFile, Field: "Plot.Columns", Places: []string{"predict"}, Placeholder: "NAMES", Rules: needed,
			Help: "plot the effect of these columns, instead of the most relevant ones"},
		Option{Name: "plot-column", Kind: Column, Group: OutputFile, Places: []string{"sample"}, Placeholder: "NAME", Unset: "the most relevant one", Rules: needed,
			Help: "column of the plot",
			Set:  func(v *Values, value any) { v.Plot.Columns = []string{value.(string)} }},
		sizes, errors)
}

// plotOption returns the option of a file with a picture.
func plotOption(name, field string, places []string, help string) Option {
	return Option{Name: name, Kind: File, Group: OutputFile, Field: field, Places: places, Placeholder: "FILE", Help: help + " (.svg, .png or .pdf)",
		check: checkEnding(".svg", ".png", ".pdf")}
}

func profileOptions() Entries {
	places := []string{"profile"}
	return Entries{
		{Name: "show", Kind: Choice, Group: Profile, Field: "Profile.Show", Places: places, Default: string(summary.ProfileCurves), Words: words(summary.ProfileShows()...),
			Help: "what to show: curves, the objective along each parameter; contour, over two parameters; or fits, the predictions for each pair of values of two parameters"},
		{Name: "along", Kind: Names, Group: Profile, Field: "Profile.Along", Places: places, Placeholder: "NAME", Unset: "all free parameters, or a lengthscale and a noise variance for a contour and for fits",
			Help: "parameter to move, such as noise_variance or 'lengthscale[temp]'; a vector stands for all its elements"},
		{Name: "range", Kind: Intervals, Group: Profile, Field: "Profile.Ranges", Places: places, Unit: "scaled units", Unset: "a few standard errors around the optimum",
			Help: "values between which a parameter moves"},
		{Name: "points", Kind: Whole, Group: Profile, Field: "Profile.Points", Places: places, NoVariable: true, Least: 2, Most: maxProfilePoints,
			Unset: fmt.Sprintf("%d for curves, %d for a contour, for fits the optima and a value on each side", fit.DefaultCurvePoints, fit.DefaultContourPoints),
			Help:  "number of points along each parameter; positive parameters have a logarithmic scale, and a curve also has a point at each optimum"},
		{Name: "others", Kind: Choice, Group: Profile, Field: "Profile.Others", Places: places, Default: string(summary.OthersTuned), Words: words(summary.ProfileOtherses()...),
			Help: "what the other parameters do: tuned, they minimize the objective at each point; or held, they stay where the fit ended"},
	}
}
