package option

import (
	"errors"
	"slices"
	"strings"

	"gpfit/fit/problem"
	"gpfit/gp"
	"gpfit/graph"
	"gpfit/internal/transform"
	"gpfit/kernel"
	"gpfit/mean"
	"gpfit/table"
	"gpfit/table/feature"
)

// in returns a shared list of places with more places appended.
func in(shared []string, more ...string) []string { return slices.Concat(shared, more) }

// Commands that share options.
var (
	// scored fit one model or evaluate it, and score it; fits also evaluate it along
	// parameters; choices fit several models; models are all of them.
	scored   = []string{"fit", "nlml"}
	fits     = in(scored, "profile")
	compares = []string{"compare"}
	choices  = in(compares, "select")
	models   = in(fits, "select", "compare")
	// tables read a training table.
	tables = in(models, "bench", "kernel check")
	// datasets are the commands that read a training table, with the path of simpler regressions.
	paths    = []string{"path"}
	datasets = in(tables, paths...)
	// predictions read a table for a model, results take only a model.
	predictions = []string{"predict", "sample"}
	// rowTables read a table for a model, to predict or to add its rows.
	rowTables = in(predictions, "update")
	results   = []string{"loo", "weights", "export"}
)

func dataOptions() Entries {
	seed := func(places []string, help string, rules ...Constraint) Option {
		return Option{Name: "seed", Kind: Seed, Group: Data, Field: "Data.Seed Fit.Settings.Seed", Places: places, Default: "1", Rules: rules, Help: help}
	}
	return Entries{
		{Name: "target", Kind: Column, Group: Data, Places: in(choices, "bench", "path"), Placeholder: "NAME", Unset: "the last column", Rules: benchTable, check: oneTarget,
			Help: "column of the target, by name or index",
			Set:  func(v *Values, value any) { v.Data.Target, v.Data.Targets = splitTargets(value.(string)) }},
		{Name: "target", Kind: Column, Group: Data, Places: in(fits, "kernel check", Spec), Placeholder: "NAME", Unset: "the last column",
			Rules:  []Constraint{{Excludes: []string{"matrix"}, Text: "option target: a matrix has no targets; leave it out with option matrix"}},
			Help:   "column of the targets, by name or index; several targets, separated by commas, share kernel and noise",
			Single: "a job has one target; list the table once for each target",
			Set:    func(v *Values, value any) { v.Data.Target, v.Data.Targets = splitTargets(value.(string)) }},
		{Name: "target", Kind: Text, Group: Data, Field: "Target", Places: in(results, "sample"), Placeholder: "NAME", NoVariable: true,
			Rules: []Constraint{{Excludes: []string{"prior"}, Text: "option target needs a MODEL: leave it out with option prior"}},
			Help:  "name of the target, if the model has several"},
		{Name: "features", Kind: Columns, Group: Data, Field: "Data.Features", Places: in(datasets, Spec), Placeholder: "NAMES", Unset: "all other columns", Rules: benchTable,
			Help: "columns of the inputs: names, indices or ranges of indices such as 0-3"},
		{Name: "exclude", Kind: Columns, Group: Data, Field: "Data.Exclude", Places: in(datasets, Spec), Placeholder: "NAMES", Unset: "none", Rules: append(benchTable,
			Constraint{Excludes: []string{"features"}, Text: "option exclude leaves columns out of all inputs, and option features names the inputs: give one of them"}),
			Help: "columns that are neither inputs nor the target: names, indices or ranges of indices"},
		{Name: "features", Kind: Columns, Group: Data, Field: "Rows.Features", Places: in(rowTables, "report"), Placeholder: "NAMES", Unset: "the columns with the names of the model's features",
			Help: "columns of the inputs, in the order of the model's features"},
		{Name: "header", Kind: YesNo, Group: Data, Field: "Data.Header Rows.Header", Places: slices.Concat(datasets, rowTables, []string{"report", Spec}), Default: "auto", Stated: true,
			Words: []string{"auto", "yes", "no"},
			Help:  "whether the first row names the columns"},
		{Name: "decimal", Kind: Choice, Group: Data, Field: "Data.Text.Decimal", Places: in(datasets, Spec), Unset: "a point", Words: []string{".", ","},
			Help: "decimal sign of text; a comma does not separate columns then"},
		{Name: "decimal", Kind: Choice, Group: Data, Field: "Rows.Text.Decimal", Places: in(rowTables, "report"), Unset: "the one of the training table", Words: []string{".", ","},
			Help: "decimal sign of text"},
		{Name: "thousands", Kind: Choice, Group: Data, Field: "Data.Text.Thousands", Places: in(datasets, Spec), Unset: "none", Words: []string{".", ",", "'", "space"},
			Help: "sign between groups of three digits in the numbers of text; the model keeps it"},
		{Name: "thousands", Kind: Choice, Group: Data, Field: "Rows.Text.Thousands", Places: in(rowTables, "report"), Unset: "the one of the training table", Words: []string{".", ",", "'", "space"},
			Help: "sign between groups of three digits in the numbers of text"},
		{Name: "strip-units", Kind: Truth, Group: Data, Field: "Data.Text.Units", Places: in(datasets, Spec), Default: "false",
			Help: "leave out $ € £ ¥ ₹ %, EUR, USD, GBP and CHF in numbers, and read (5), 5- and −5 as -5; the model does the same"},
		{Name: "strip-units", Kind: Truth, Group: Data, Field: "Rows.Text.Units", Places: in(rowTables, "report"), Default: "false",
			Help: "leave out signs of currencies and % of numbers, as a model does whose training table had them"},
		{Name: "skip-lines", Kind: Text, Group: Data, Field: "Data.SkipLines Rows.SkipLines", Places: slices.Concat(datasets, rowTables, []string{"report", Spec}), Placeholder: "LINES", Unset: "none",
			Help:  "lines of text that are no part of the table, such as titles above the header: numbers and ranges such as 1-2,40",
			check: func(value any) error { return table.CheckLines(value.(string)) }},
		{Name: "encoding", Kind: Text, Group: Data, Field: "Data.Text.TextEncoding", Places: in(datasets, Spec, "check"), Unset: "UTF-8, or what a byte order mark says", Placeholder: "NAME", check: checkEncoding,
			Help: "encoding of text, such as windows-1252, iso-8859-1, windows-1251, koi8-r, shift_jis or gb18030; the model keeps it"},
		{Name: "encoding", Kind: Text, Group: Data, Field: "Rows.Text.TextEncoding", Places: in(rowTables, "report"), Unset: "the one of the training table", Placeholder: "NAME", check: checkEncoding,
			Help: "encoding of text, such as windows-1252 or utf-8"},
		{Name: "missing", Kind: Choice, Group: Data, Field: "Data.DropMissing", Places: in(datasets, Spec), Default: "error", Words: []string{"error", "drop"}, Instead: "; gpfit does not impute",
			Help: "what to do with rows that have empty, NaN or NA cells in the columns used: report an error, or drop the rows"},
		{Name: "missing", Kind: Choice, Group: Data, Field: "Rows.Missing", Places: []string{"predict"}, Default: "error", Words: []string{"error", "drop", "blank"},
			Rules: []Constraint{{If: "blank", Excludes: []string{"draws", "cov"}, Text: "option missing blank: joint draws and covariances have no blank rows; give option missing drop"}},
			Help:  "what to do with rows that have empty, NaN or NA cells in the columns used: report an error; drop the rows; or keep them, with blank predictions"},
		{Name: "missing", Kind: Choice, Group: Data, Field: "Rows.Missing", Places: []string{"update", "report"}, Default: "error", Words: []string{"error", "drop"},
			Help: "what to do with rows that have empty, NaN or NA cells in the columns used: report an error, or drop the rows"},
		{Name: "keep", Kind: Columns, Group: Data, Field: "Rows.Keep", Places: []string{"predict"}, Placeholder: "NAMES",
			Help: "columns to write before the predictions, as text, such as keys that identify the rows"},
		{Name: "subsample", Kind: Whole, Group: Data, Field: "Data.Subsample", Places: in(datasets, Spec), Unit: "rows", Unset: "all rows", Placeholder: "N", Rules: benchTable,
			Help: "draw N rows at random if DATA has more, besides the rows that a mask holds out; 0 takes all rows"},
		seed(in(choices, "fit", "profile"), "seed of everything random, such as the rows that option subsample draws and the starts of option restarts"),
		seed(paths, "seed of the rows that option subsample and option holdout draw, and of the folds of the lasso"),
		seed([]string{"nlml"}, "seed of the rows that option subsample draws"),
		seed([]string{"bench"}, "seed of the synthetic table or of option subsample", Constraint{Needs: []string{"data=", "subsample"}, Text: "option seed is for a synthetic table: leave it out with option data"}),
		seed([]string{"kernel check"}, "seed of the points, of the parameters around the start values, and of option subsample"),
		{Name: "holdout", Kind: parsed(Rows, problem.ParseHoldOut), Group: Data, Places: in(choices, "fit", "profile", "path", Spec), Placeholder: "[last:]SHARE|N", Unset: "none",
			Help: "hold out and score random rows: a share below 1, or a number of rows; with option group, of groups. last:200 takes the latest by the only column or the only date, otherwise the last of the table",
			Set: func(v *Values, value any) {
				held := value.(problem.Options)
				v.Fit.HoldOut, v.Fit.HoldOutLast = held.HoldOut, held.HoldOutLast
			}},
		{Name: "group", Kind: Column, Group: Data, Field: "Data.Group", Places: in(models, "path", Spec), Placeholder: "NAME", Rules: heldOut,
			Help: "column of labels: rows with the same label stay together in hold-outs and folds"},
		{Name: "blocks", Kind: Truth, Group: Data, Field: "Fit.Blocks", Places: in(models, "path", Spec), Rules: heldOut,
			Help: "take consecutive rows instead of random ones: the last rows as hold-out, and blocks of rows as folds"},
		{Name: "split-mask", Kind: parsed(File, orNone(splitMask)), Group: Data, Places: in(choices, "fit", "profile", "path"), Placeholder: "FILE[:COLUMN]",
			Help: "table with 0 or 1 for each row of DATA: rows marked 1 are held out and scored; COLUMN is a name or index",
			Set: func(v *Values, value any) {
				mask := value.([2]string)
				v.Data.Mask, v.Data.MaskColumn = mask[0], mask[1]
			}},
	}
}

// Rules that several options have.
var (
	benchTable = []Constraint{{Needs: []string{"data"}, Text: "option target, option features, option exclude and option subsample need a table: give option data"}}
	heldOut    = []Constraint{{Places: in(fits, "path"), Needs: []string{"holdout", "scores=cv", "objective=cv", "objective=cv-rmse"},
		Text: "option group and option blocks say which rows are held out: they need option holdout, option scores cv or option objective cv or cv-rmse"}}
	retuned    = []Constraint{{Needs: []string{"retune"}, Text: "option fix, option bounds and option max-evals tune parameters: they need option retune"}}
	modelNoise = []Constraint{{Places: []string{"sample"}, Needs: []string{"observed"}, Excludes: []string{"prior"},
		Text: "option noise-column, option noise-group and option noise-group-default need a MODEL and option observed"}}
)

// checkEncoding refuses names that no encoding has.
func checkEncoding(value any) error { return table.CheckTextEncoding(value.(string)) }

// oneTarget refuses several targets.
func oneTarget(value any) error {
	if strings.Contains(value.(string), ",") {
		return errors.New("takes one target; run the command once for each target")
	}
	return nil
}

func columnOptions() Entries {
	return Entries{
		{Name: "categories", Kind: Columns, Group: Data, Field: "Data.Columns.Categories", Places: in(datasets, Spec), Placeholder: "NAMES", Unset: "columns of texts",
			Help: "columns to read as categories, whatever they contain"},
		{Name: "dates", Kind: Columns, Group: Data, Field: "Data.Columns.Dates", Places: in(datasets, Spec), Placeholder: "NAMES", Unset: "columns of dates or times of day",
			Help: "columns to read as dates or times of day"},
		{Name: "numbers", Kind: Columns, Group: Data, Field: "Data.Columns.Numbers", Places: in(datasets, Spec), Placeholder: "NAMES", Unset: "columns of numbers",
			Help: "columns to read as numbers: another text in them is an error"},
		{Name: "category-columns", Kind: Choice, Group: Data, Field: "Data.Columns.Codes", Places: in(datasets, Spec), Default: "indicators", Words: []string{"indicators", "codes"},
			Help: "what becomes of a column of categories: indicators, a column of 0 and 1 for each (one-hot); or codes, one column of 0, 1, 2, … for kernels such as hamming"},
		{Name: "date-unit", Kind: Choice, Group: Data, Field: "Data.Columns.Unit", Places: in(datasets, Spec), Default: string(feature.Days), Words: words(feature.Units()...),
			Help: "unit of dates and times of day; a year has 365.2425 days"},
		{Name: "date-origin", Kind: Text, Group: Data, Field: "Data.Columns.Origin", Places: in(datasets, Spec), Default: feature.DefaultOrigin, Placeholder: "DATE",
			Help:  "date from which dates are counted",
			check: func(value any) error { _, err := feature.ParseDate(value.(string)); return err }},
		{Name: "date-order", Kind: Choice, Group: Data, Field: "Data.Columns.Order", Places: in(datasets, Spec), Unset: "such dates are an error", Words: words(feature.DateOrders()...),
			Help: "order of day and month in dates such as 1/2/2024; the model keeps it"},
		{Name: "unseen", Kind: Choice, Group: Data, Field: "Rows.RefuseUnseen", Places: in(rowTables, "report"), Default: "zero", Words: []string{"zero", "error"},
			Rules: []Constraint{{If: "error", Excludes: []string{"prior"}, Text: "option unseen needs a MODEL, which knows the categories of its table: leave it out with option prior"}},
			Help:  "what to do with a category that the training table did not have: set its indicators to 0 (its code to -1) and warn, or report an error"},
	}
}

// splitTargets returns the only target, or several.
func splitTargets(text string) (string, []string) {
	if !strings.Contains(text, ",") {
		return text, nil
	}
	list := strings.Split(text, ",")
	for i := range list {
		list[i] = strings.TrimSpace(list[i])
	}
	return "", list
}

// splitMask reads FILE[:COLUMN].
func splitMask(text string) (mask [2]string, err error) {
	mask[0], mask[1], err = table.ParseMaskFlag(text)
	return mask, err
}

func modelOptions() Entries {
	checkKernel := func(value any) error { return problem.CheckKernelText(value.(string)) }
	return Entries{
		{Name: "kernel", Kind: Text, Group: Model, Field: "Fit.Kernel", Places: in(fits, "bench"), Default: problem.AutoKernel, Placeholder: "EXPRESSION", Examples: append([]string{problem.AutoKernel}, kernel.Families()...),
			Help:  "covariance function: auto, which a fit chooses by the data, or an expression such as 'rbf(ard)', 'rbf + matern32' or 'formula(exp(-r/a), a=1)'",
			check: checkKernel},
		{Name: "kernels", Former: "kernel", Kind: Texts, Group: Model, Field: "Compare.Kernels", Places: compares, Default: problem.AutoKernel,
			Rules: []Constraint{{Needs: []string{"methods=gp", "methods="}, Text: "option kernels is for the method gp, which option methods leaves out"}}, Placeholder: "EXPRESSION", Examples: kernel.Families(),
			Help:  "kernel of the Gaussian process; give the option once for each",
			check: func(value any) error { return checkKernel(value.([]string)[0]) }},
		{Name: "kernels", Kind: Texts, Group: Kernels, Field: "Select.Kernels", Places: []string{"select"}, Default: problem.AutoKernel, Placeholder: "EXPRESSION", Examples: kernel.Families(),
			Help:  "kernel to compare; give the option once for each, or auto for the models of a fit",
			check: func(value any) error { return checkKernel(value.([]string)[0]) }},
		{Name: "ard", Kind: Truth, Group: Model, Field: "Fit.ARD", Places: in(tables, Spec), Default: "false", Stated: true,
			Help: "give every leaf of the kernel one lengthscale per column"},
		{Name: "mean", Kind: Text, Group: Model, Field: "Fit.Mean", Places: in(models, "bench", Spec), Default: problem.AutoMean, Stated: true, Placeholder: "EXPRESSION", Examples: append([]string{problem.AutoMean}, mean.Kinds()...),
			Help:  "mean function: auto, a constant or, if the fit chooses the kernel, also linear or with the seasons of a series; or a sum of zero, constant, linear, poly(DEGREE), bumps(COUNT) and seasonal(PERIOD, HARMONICS), such as 'linear + bumps(5, dims=0)'",
			check: func(value any) error { return problem.CheckMeanText(value.(string)) }},
		{Name: "mean-prior", Kind: parsed(Level, problem.ParseMeanPrior), Group: Model, Field: "Fit.MeanPrior", Places: in(fits, "compare", Spec), Placeholder: "VARIANCE", Unit: "scaled units",
			Help: "prior N(0, VARIANCE) of the coefficients of the mean, which are integrated out as terms of the kernel (kernel none has no others); tuned finds the variance"},
		{Name: "mean-fit", Kind: Choice, Group: Model, Places: in(models, Spec), Default: "auto", Words: words("auto", problem.MeanGLS, problem.MeanFree),
			Help: "how to find the coefficients of the mean: gls, by least squares within each evaluation; free, as parameters; auto is free if another option names a coefficient",
			Set: func(v *Values, value any) {
				if v.Fit.MeanFit = problem.MeanFit(value.(string)); value == "auto" {
					v.Fit.MeanFit = problem.MeanAuto
				}
			}},
	}
}

func noiseOptions() Entries {
	return Entries{
		{Name: "noise", Kind: Choice, Group: Noise, Field: "Fit.NoNoise", Places: in(models, Spec), Default: "estimated", Words: []string{"estimated", "none"}, Instead: "; option fix noise_variance=0.1 fixes the variance",
			Help: "estimate a noise variance, or fit without one: the function then passes through the targets, unless option noise-column gives variances"},
		{Name: "noise-floor", Kind: parsed(Level, problem.ParseNoiseFloor), Group: Noise, Field: "Fit.NoiseFloor", Places: in(models, Spec), Placeholder: "VARIANCE", Unit: "scaled target²", Unset: "1e-9 of the target's variance, and more if the fit then predicts as well",
			Help: "smallest noise variance that a fit may find, such as 1e-4; VARIANCE:original is in squared units of the target; none is 1e-9 and no more"},
		{Name: "robust", Kind: Truth, Group: Noise, Field: "Fit.Robust", Places: []string{"fit", Spec},
			Help: "find rows that do not fit the model, by relevance pursuit, and give each a noise variance of its own; the report lists them"},
		{Name: "noise-column", Kind: Column, Group: Noise, Field: "Data.NoiseColumn", Places: in(models, Spec), Placeholder: "NAME", Unit: "target²",
			Help: "column of the known noise variance of each row, in squared units of the target; gpfit adds the estimated variance"},
		{Name: "noise-column", Kind: Column, Group: Noise, Field: "Rows.NoiseColumn", Places: in(rowTables, "report"), Placeholder: "NAME", Unit: "target²", Unset: "the model's column, if DATA has it", Rules: modelNoise,
			Help: "column of known noise variances, in squared units of the target"},
		{Name: "weight-column", Kind: Column, Group: Noise, Field: "Data.WeightColumn", Places: in(fits, "select", Spec), Placeholder: "NAME",
			Help: "column of weights, which divide the estimated noise variance, as for the mean of that many observations; rows of weight 0 are left out"},
		{Name: "noise-group", Kind: Column, Group: Noise, Field: "Data.NoiseGroup", Places: in(models, Spec), Placeholder: "NAME",
			Help: "column of labels: the rows of each label have their own noise variance, noise_variance[LABEL]"},
		{Name: "noise-group", Kind: Column, Group: Noise, Field: "Rows.NoiseGroup", Places: in(rowTables, "report"), Placeholder: "NAME", Unset: "the model's column, if DATA has it", Rules: modelNoise,
			Help: "column of noise groups"},
		{Name: "noise-group-default", Kind: Text, Group: Noise, Field: "Rows.DefaultGroup", Places: in(rowTables, "report"), Placeholder: "LABEL", Rules: modelNoise,
			Help: "noise group of rows whose own group the model does not know"},
	}
}

func parameterOptions() Entries {
	return Entries{
		{Name: "standardize", Kind: Choice, Group: Model, Field: "Fit.Standardize", Places: in(datasets, Spec), Default: string(gp.StandardizeXY), Stated: true,
			Words: words(gp.StandardizeXY, gp.StandardizeX, gp.StandardizeY, gp.StandardizeNone),
			Help:  "what to scale to mean 0 and standard deviation 1: inputs (x), targets (y), both or none"},
		{Name: "target-transform", Kind: Choice, Group: Model, Field: "Fit.TargetTransform", Places: []string{"fit", "compare", Spec}, Unset: "one that is clearly better, if the fit chooses kernel and mean; none otherwise", Words: words(append(transform.Names(), transform.Auto)...),
			Help: "transform of the target before it is scaled: log; boxcox or yeojohnson, whose lambda is a parameter; or auto, by BIC; scores and predictions stay in original units"},
		{Name: "target-transform", Kind: Choice, Group: Model, Field: "Fit.TargetTransform", Places: []string{"nlml", "profile", "select"}, Default: string(transform.None), Words: words(transform.Names()...),
			Help: "transform of the target before it is scaled: log; or boxcox or yeojohnson, whose lambda is a parameter; scores and predictions stay in original units"},
		{Name: "input-transform", Kind: Choice, Group: Model, Field: "Fit.InputTransform", Places: []string{"fit", "compare", Spec}, Unset: "skewed if that is clearly better and the fit chooses kernel and mean; none otherwise", Words: words(transform.None, transform.Skewed),
			Help: "transform of columns before they are scaled: skewed takes log(1 + x/u) of each column of numbers with a long tail"},
		{Name: "input-transform", Kind: Choice, Group: Model, Field: "Fit.InputTransform", Places: []string{"nlml", "profile", "select"}, Default: string(transform.None), Words: words(transform.None, transform.Skewed),
			Help: "transform of columns before they are scaled: skewed takes log(1 + x/u) of each column of numbers with a long tail"},
		{Name: "set", Kind: Starts, Group: Parameters, Field: "Fit.Set", Places: in(tables, Spec), Unit: "scaled units",
			Help: "start value of a parameter, such as 'lengthscale[temp]=2'; the brackets hold the name or the index of a column"},
		{Name: "fix", Kind: Fixed, Group: Parameters, Field: "Fit.Fix", Places: in(models, "update", Spec), Unit: "scaled units", Placeholder: "NAME[=VALUE]", Rules: retuned,
			Help: "parameter to keep fixed at a value, or at its start value if none is given"},
		{Name: "bounds", Kind: Intervals, Group: Parameters, Field: "Fit.Bounds", Places: in(models, "update", Spec), Unit: "scaled units", Rules: retuned,
			Help: "lower and upper bound of a parameter"},
		{Name: "prior", Kind: Densities, Group: Parameters, Field: "Fit.Priors", Places: in(models, Spec), Unit: "scaled units",
			Help: "prior density of a parameter, such as noise_variance=lognormal(-4, 1); the densities are " + strings.Join(graph.PriorFamilies(), ", ")},
		{Name: "tie", Kind: Ties, Group: Parameters, Field: "Fit.Ties", Places: in(models, Spec),
			Help: "parameter that takes the value of another"},
	}
}
