package option

import (
	"errors"
	"math"
	"strconv"
	"strings"

	"gpfit/experts"
	"gpfit/fit/problem"
)

// programOptions are the options of single commands that come before the others in help texts.
func programOptions() Entries {
	bench, devices := []string{"bench"}, []string{"devices"}
	return Entries{
		{Name: "version", Short: "V", Kind: Truth, Group: General, Places: []string{Program}, NoVariable: true,
			Help:   "print the version",
			Assign: into(func(v *Values) *bool { return &v.Version })},
		{Name: "n", Kind: Wholes, Group: Measuring, Places: bench, Default: "1000,2000,4000",
			Help:   "numbers of rows; each measurement takes the first n rows of the table",
			check:  atLeast(2, "a model needs at least 2 rows"),
			Assign: into(func(v *Values) *[]int { return &v.Bench.Rows })},
		{Name: "data", Kind: File, Group: Measuring, Places: bench, Placeholder: "FILE", Unset: "a synthetic table from option d and option seed",
			Help:   "file with the table",
			Assign: into(func(v *Values) *string { return &v.Bench.Table })},
		{Name: "d", Kind: Whole, Group: Measuring, Places: bench, Default: "8", Least: 1, Most: maxColumns,
			Rules:  []Constraint{{Excludes: []string{"data"}, Text: "option d is for a synthetic table: leave it out with option data"}},
			Help:   "number of columns of the synthetic table",
			Assign: into(func(v *Values) *int { return &v.Bench.Columns })},
		{Name: "repeat", Kind: Whole, Group: Measuring, Places: bench, Default: "5", Least: 1, Most: maxRepeat,
			Help:   "number of timed evaluations of each kind; gpfit shows their median",
			Assign: into(func(v *Values) *int { return &v.Bench.Repeat })},
		{Name: "calibrate", Kind: Truth, Group: Device, Places: devices,
			Help:   "measure again from which number of rows on a GPU is faster than the CPU, and remember it",
			Assign: into(func(v *Values) *bool { return &v.Compute.Calibrate })},
		{Name: "test", Kind: Truth, Group: Device, Places: devices,
			Help:   "open the device, or the CPU and all GPUs, and compare the results of a GPU with the CPU's, and the CPU's with those of device gonum; the exit code is 12 if a device does not open or computes wrong results",
			Assign: into(func(v *Values) *bool { return &v.Compute.Test })},
		{Name: "n", Kind: Wholes, Group: Device, Places: devices, Default: "500,2000,5000,10000", Least: 1,
			Help:   "numbers of points for option test, as far as memory and time permit",
			Assign: into(func(v *Values) *[]int { return &v.Compute.Sizes })},
		{Name: "from", Kind: File, Group: Tuning, Places: []string{"fit", "profile"}, Placeholder: "FILE",
			Help:   "model to start from: columns, kernel, mean, noise, ties, priors and start values that the options do not give",
			Assign: into(func(v *Values) *string { return &v.From })},
		{Name: "retune", Kind: Truth, Group: Tuning, Places: []string{"update"},
			Help:   "tune the parameters on all rows, starting from those of MODEL",
			Assign: into(func(v *Values) *bool { return &v.Retune })},
	}
}

// kernelOptions are the options of gpfit kernel, and those of gpfit sample that replace MODEL
// and DATA.
func kernelOptions() Entries {
	check, show, sample := []string{"kernel check"}, []string{"kernel show"}, []string{"sample"}
	start := func(places []string, group Group, help string, rules ...Constraint) Option {
		return Option{Name: "set", Kind: Starts, Group: group, Places: places, NoVariable: true, Rules: rules, Help: help,
			check: func(value any) error {
				if value.([]problem.Assignment)[0].Value < 0 {
					return errors.New("must be a positive number")
				}
				return nil
			},
			Assign: into(func(v *Values) *[]problem.Assignment { return &v.Fit.Set })}
	}
	return Entries{
		{Name: "points", Kind: Whole, Group: Points, Places: check, Default: "300", Least: 1,
			Help:   "largest number of points; the time grows with its cube",
			Assign: into(func(v *Values) *int { return &v.Kernel.Points })},
		{Name: "draws", Kind: Whole, Group: Points, Places: check, Default: "4",
			Help:   "number of random parameter vectors around the start values",
			Assign: into(func(v *Values) *int { return &v.Kernel.Draws })},
		{Name: "columns", Kind: Whole, Group: Points, Places: check, Default: "3", Least: 1, Most: maxColumns,
			Help:   "number of columns of random points, without DATA",
			Assign: into(func(v *Values) *int { return &v.Kernel.Columns })},
		{Name: "matrix", Kind: File, Group: Points, Places: check, Placeholder: "FILE", Rules: []Constraint{{Excludes: []string{"table"}}},
			Help:   "check the square matrix in a file, the values at all pairs of points",
			Assign: into(func(v *Values) *string { return &v.Kernel.Matrix })},
		{Name: "table", Kind: File, Group: Points, Places: check, Placeholder: "FILE",
			Help:   "check the values in a file, with columns for x, x' and k(x, x')",
			Assign: into(func(v *Values) *string { return &v.Kernel.Table })},
		{Name: "tolerance", Kind: Number, Group: Points, Places: check, Placeholder: "SHARE", Unset: "rounding in double precision",
			Rules: []Constraint{{Needs: []string{"matrix", "table"}, Text: "option tolerance needs option matrix or option table: gpfit knows the rounding of its own values"}},
			Help:  "relative rounding error of the values of option matrix or option table, a share of the largest",
			check: func(value any) error {
				if value.(float64) >= 1 {
					return errors.New("must be a number from 0 to 1, such as 1e-6 for six digits")
				}
				return nil
			},
			Assign: into(func(v *Values) *float64 { return &v.Kernel.Tolerance })},
		start(show, Points, "value of a parameter"),
		{Name: "range", Kind: Text, Group: Points, Places: show, Placeholder: "LO:HI",
			Help:   "range of x; distances go from 0 to HI",
			check:  func(value any) error { _, err := parseRange(value.(string)); return err },
			Assign: func(v *Values, value any) { v.Kernel.Range, _ = parseRange(value.(string)) }},
		{Name: "columns", Kind: Whole, Group: Points, Places: show, Default: "1", Least: 1, Most: 1000,
			Help:   "number of columns of x",
			Assign: into(func(v *Values) *int { return &v.Kernel.Columns })},
		{Name: "along", Kind: Whole, Group: Points, Places: show, Default: "0",
			Help:   "index of the column along which x changes",
			Assign: into(func(v *Values) *int { return &v.Kernel.Along })},
		{Name: "draws", Kind: Whole, Group: Points, Places: show, Default: "5", Most: 1000,
			Help:   "number of functions to draw in the plot",
			Assign: into(func(v *Values) *int { return &v.Kernel.Draws })},
		{Name: "seed", Kind: Seed, Group: Points, Places: show, Default: "1",
			Help:   "seed of the draws",
			Assign: into(func(v *Values) *uint64 { return &v.Kernel.Seed })},
		{Name: "prior", Kind: Text, Group: Prior, Places: sample, Placeholder: "EXPRESSION", NoVariable: true,
			Help:   "covariance function to draw from instead of a MODEL",
			Assign: into(func(v *Values) *string { return &v.Sample.Prior })},
		start(sample, Prior, "parameter of option prior", Constraint{Needs: []string{"prior"}, Text: "option set needs option prior: a MODEL has its parameters"}),
		{Name: "unconditional", Kind: Truth, Group: Prior, Places: sample,
			Rules:  []Constraint{{Excludes: []string{"prior"}, Text: "option unconditional needs a MODEL: leave it out with option prior"}},
			Help:   "draw from the model's prior",
			Assign: into(func(v *Values) *bool { return &v.Sample.Unconditional })},
		{Name: "grid", Kind: Text, Group: Prior, Places: sample, Placeholder: "LO:HI:COUNT",
			Help:   "equally spaced rows of one feature instead of DATA",
			check:  func(value any) error { _, err := ParseGrid(value.(string)); return err },
			Assign: func(v *Values, value any) { v.Sample.Grid, _ = ParseGrid(value.(string)) }},
	}
}

// The largest numbers of columns and of timed evaluations.
const (
	maxColumns = 1 << 20
	maxRepeat  = 10_000
)

// atLeast returns a check of a list of whole numbers.
func atLeast(least int, msg string) func(any) error {
	return func(value any) error {
		if value.([]int)[0] < least {
			return errors.New(msg)
		}
		return nil
	}
}

// parseRange reads LO:HI. An empty text gives nil.
func parseRange(text string) ([]float64, error) {
	if text == "" {
		return nil, nil
	}
	first, second, ok := strings.Cut(text, ":")
	lo, err := strconv.ParseFloat(first, 64)
	hi, err2 := strconv.ParseFloat(second, 64)
	if !ok || errors.Join(err, err2) != nil || !(lo < hi) || math.IsInf(hi-lo, 0) {
		return nil, errors.New("needs LO:HI with LO < HI, such as 0:5")
	}
	return []float64{lo, hi}, nil
}

// ParseGrid reads LO:HI:COUNT and returns COUNT equally spaced numbers from LO to HI. An empty
// text gives nil.
func ParseGrid(text string) ([]float64, error) {
	if text == "" {
		return nil, nil
	}
	parts := strings.Split(text, ":")
	if len(parts) != 3 {
		return nil, errors.New("needs LO:HI:COUNT")
	}
	ends, err := parseRange(parts[0] + ":" + parts[1])
	count, err2 := strconv.Atoi(parts[2])
	if errors.Join(err, err2) != nil || count < 2 || count > 1<<24 {
		return nil, errors.New("needs LO:HI:COUNT with LO < HI and a COUNT of at least 2")
	}
	return Spaced(ends[0], ends[1], count), nil
}

// Spaced returns n equally spaced numbers from lo to hi.
func Spaced(lo, hi float64, n int) []float64 {
	out := make([]float64, n)
	for i := range out {
		share := float64(i) / float64(n-1)
		out[i] = lo*(1-share) + hi*share
	}
	return out
}

// predictOptions are the options of gpfit predict.
func predictOptions() Entries {
	places := []string{"predict"}
	flag := func(name, help string, at func(*Values) *bool) Option {
		return Option{Name: name, Kind: Truth, Group: Predicting, Places: places, Help: help, Assign: into(at)}
	}
	mean := flag("mean-only", "predict only the mean, in about a hundredth of the time", func(v *Values) *bool { return &v.Predict.MeanOnly })
	mean.Rules = []Constraint{{Excludes: []string{"terms", "gradient", "gradient-std", "draws", "cov", "plot"}, Text: "option mean-only gives the mean alone: leave out option %s"}}
	score := flag("score", "also compare the predictions with the targets in DATA", func(v *Values) *bool { return &v.Rows.Observed })
	score.NoVariable = true
	return Entries{
		{Name: "interval", Kind: Numbers, Group: Predicting, Places: places, Default: "0.95",
			Help: "probability of the interval for a new observation; several, separated by commas, give several intervals",
			check: func(value any) error {
				if p := value.([]float64)[0]; !(p > 0 && p < 1) {
					return errors.New("must be a probability between 0 and 1, such as 0.9")
				}
				return nil
			},
			Assign: into(func(v *Values) *[]float64 { return &v.Predict.Probabilities })},
		mean, score,
		flag("terms", "also predict each term of a sum of kernels", func(v *Values) *bool { return &v.Predict.Terms }),
		flag("gradient", "also give the derivatives of the mean by the features", func(v *Values) *bool { return &v.Predict.Gradient }),
		flag("gradient-std", "also give the standard deviations of the function's derivatives: 2n² operations per row and feature", func(v *Values) *bool { return &v.Predict.GradientStd }),
		{Name: "posterior-draws", Kind: Whole, Group: Predicting, Places: places, Default: strconv.Itoa(DefaultPosteriorDraws), NoVariable: true, Placeholder: "N",
			Help:   "average over at most N draws of the parameters, if MODEL has them; 0 predicts with the optimum",
			Assign: into(func(v *Values) *int { return &v.PosteriorDraws })},
		{Name: "combine", Kind: Choice, Group: Predicting, Places: places, Unset: "the rule of the fit", Words: words(experts.Rules()...), NoVariable: true,
			Help:   "how the local experts of MODEL predict",
			Assign: word(func(v *Values) *experts.Rule { return &v.Combine })},
	}
}

// DefaultPosteriorDraws bounds the time of a prediction, which is one factorisation for each
// draw. With 100 independent draws the mean has a tenth of the standard deviation that the
// parameters' uncertainty gives it as Monte Carlo error.
const DefaultPosteriorDraws = 100

// plotOptions are the options of pictures.
func plotOptions() Entries {
	var all Entries
	for _, p := range []struct{ place, what string }{
		{"predict", "the predictions along one column, or the effect of each column if the rows differ in several,"},
		{"sample", "prior and posterior along one column"},
		{"compare", "the fits over the only input, to the training rows of a hold-out or to all rows,"},
		{"profile", "the profile"}, {"bench", "time against n"}, {"kernel show", "k and draws"},
	} {
		all = append(all, plotOption("plot", []string{p.place}, "also plot "+p.what, func(v *Values) *string { return &v.Plot.Path }))
	}
	pictured := in(predictions, "compare", "profile", "bench", "kernel show")
	needed := []Constraint{{Needs: []string{"plot"}}}
	sizes := plotOption("plot-sizes", compares, "also plot score and time against the sizes of option sizes", func(v *Values) *string { return &v.Plot.Sizes })
	sizes.Rules = []Constraint{{Needs: []string{"sizes"}}}
	return append(all,
		Option{Name: "plot-title", Kind: Text, Group: OutputFile, Places: pictured, Placeholder: "TITLE", Rules: needed,
			Help:   "title of the plot, instead of a sentence that says what it shows",
			Assign: into(func(v *Values) *string { return &v.Plot.Title })},
		Option{Name: "size", Kind: Text, Group: OutputFile, Places: pictured, Placeholder: "SIZE", Rules: needed,
			Help:   "size of the plot in centimetres, such as 16x11, or with a unit as in 800x600px",
			Assign: into(func(v *Values) *string { return &v.Plot.Size })},
		Option{Name: "plot-by", Kind: Column, Group: OutputFile, Places: []string{"predict"}, Placeholder: "NAME",
			Rules: append([]Constraint{{Excludes: []string{"plot-column"}, Text: "option plot-by shows the rows of DATA, and option plot-column the effect of columns: give one of them"}}, needed...),
			Help:  "plot the rows along the feature NAME, each with a dot and a bar if they differ in others, too", Assign: into(func(v *Values) *string { return &v.Plot.By })},
		Option{Name: "plot-column", Kind: Columns, Group: OutputFile, Places: []string{"predict"}, Placeholder: "NAMES", Rules: needed,
			Help:   "plot the effect of these columns, instead of the most relevant ones",
			Assign: into(func(v *Values) *[]string { return &v.Plot.Columns })},
		Option{Name: "plot-column", Kind: Column, Group: OutputFile, Places: []string{"sample"}, Placeholder: "NAME", Unset: "the most relevant one", Rules: needed,
			Help:   "column of the plot",
			Assign: func(v *Values, value any) { v.Plot.Columns = []string{value.(string)} }},
		sizes)
}

// plotOption returns the option of a file with a picture.
func plotOption(name string, places []string, help string, at func(*Values) *string) Option {
	return Option{Name: name, Kind: File, Group: OutputFile, Places: places, Placeholder: "FILE", Help: help + " in a file, .svg, .png or .pdf",
		check:  checkEnding(".svg", ".png", ".pdf"),
		Assign: into(at)}
}
