package option

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"gpfit/compare"
	"gpfit/compare/baseline"
	"gpfit/compare/shrinkage"
	"gpfit/device"
	"gpfit/fit"
	"gpfit/fit/columns"
	"gpfit/fit/problem"
	"gpfit/hyperopt"
	"gpfit/method"
	"gpfit/method/experts"
)

func scoreOptions() Entries {
	selects := []string{"select"}
	search := []Constraint{{Needs: []string{"greedy"}, Text: "option max-terms and option budget need option greedy"}}
	return Entries{
		{Name: "objective", Kind: Choice, Group: Scores, Field: "Fit.Objective", Places: in(fits, Spec), Default: string(problem.NLML), Words: words(problem.Criteria()...),
			Help: "what to minimize: nlml, the negative log marginal likelihood; loo, the negative log predictive density of leave-one-out; lopo, the same with rows of equal inputs left out together; cv, the same for folds of rows; or the root mean squared error of these with -rmse"},
		{Name: "scores", Kind: Words, Group: Scores, Places: in(scored, Spec), Placeholder: "LIST", Words: []string{"loo", "cv"}, SpecWords: []string{"loo"}, Examples: []string{"loo", "cv", "loo,cv"},
			Help: "predictive scores to report: leave-one-out (loo), cross-validation (cv, not in a batch) or both",
			Set: func(v *Values, value any) {
				v.Fit.LeaveOneOut = slices.Contains(value.([]string), "loo")
				v.CrossValidate = slices.Contains(value.([]string), "cv")
			}},
		{Name: "methods", Kind: Words, Group: Model, Field: "Compare.Methods", Places: compares, Placeholder: "LIST", Unset: "all", Words: compare.Methods(), Examples: compare.Methods(),
			Help: "methods to compare"},
		{Name: "lambda", Kind: Starts, Group: Model, Field: "Compare.Penalties", Places: compares, Placeholder: "METHOD=VALUE", Unset: "each method chooses its own",
			Help: "penalty of ridge, lasso or spline, for scaled columns; the method chooses among several"},
		{Name: "spline", Kind: Choice, Group: Model, Field: "Compare.Spline", Places: compares, Default: string(baseline.LinearSpline), Words: words(baseline.SplineKinds()...),
			Help: "kind of the method spline: linear, lines with a penalty on their bends at knots; ridge, with the same penalty on the slope; hinges, bends without a line; or cubic, natural cubic splines with a penalty on the squared second derivative"},
		{Name: "knots", Kind: Signed, Group: Model, Field: "Compare.Knots", Places: compares, Placeholder: "X,…", Unset: "of a cubic spline each value, or 200 quantiles; of others at most 35 quantiles",
			Help: "knots of the method spline for a table with one input, in units of the column"},
		{Name: "penalty", Kind: Choice, Group: Model, Field: "Path.Penalty", Places: paths, Default: string(shrinkage.Ridge), Words: words(shrinkage.Penalties()...),
			Help: "what is penalized: ridge, the sum of the squares of the weights, or lasso, the sum of their absolute values"},
		{Name: "lambdas", Kind: Numbers, Group: Model, Field: "Path.Lambdas", Places: paths, Placeholder: "L,…", Unset: "100 penalties from the data",
			Help: "penalties of the path; 0 gives least squares"},
		{Name: "no-intercept", Kind: Truth, Group: Model, Field: "Path.NoIntercept", Places: paths,
			Help: "leave out the intercept; columns are then not centered unless option standardize centers them"},
		{Name: "sizes", Kind: Wholes, Group: Scores, Field: "Compare.Sizes", Places: compares, Placeholder: "N,…", Unit: "rows", Least: 1, Most: maxSize,
			Help: "also fit every method to nested random subsets with these numbers of training rows"},
		{Name: "folds", Kind: Whole, Group: Scores, Field: "Compare.Folds", Places: compares, Unset: fmt.Sprint(problem.DefaultFolds), Least: 2,
			Help: "number of folds: each is predicted by fits to the others, unless rows are held out"},
		{Name: "folds", Kind: Whole, Group: Scores, Field: "CrossValidation.Folds Fit.Folds", Places: in(fits, "select", Spec), Unset: fmt.Sprint(problem.DefaultFolds), Least: 2,
			Rules: []Constraint{{Places: fits, Needs: []string{"scores=cv", "objective=cv", "objective=cv-rmse"}}},
			Help:  "number of folds of the cross-validation"},
		{Name: "fold-seed", Kind: Seed, Group: Scores, Field: "CrossValidation.Seed Fit.FoldSeed", Places: fits, Default: "1",
			Help: "seed that assigns rows to folds"},
		{Name: "refit", Kind: Truth, Group: Scores, Field: "CrossValidation.Refit", Places: in(scored, "select"), Rules: []Constraint{{Needs: []string{"scores=cv"}}},
			Help: "tune the parameters again for each fold; a chosen kernel, mean or transform stays"},
		{Name: "score", Kind: Choice, Group: Scores, Field: "Compare.RankBy", Places: compares, Default: string(compare.ByRMSE), Words: words(compare.Rankings()...), NoVariable: true,
			Help: "score that ranks the methods: rmse, the root mean squared error, or nlpd, the negative log predictive density"},
		{Name: "score", Kind: Choice, Group: Kernels, Field: "Select.Score", Places: selects, Default: string(fit.ByBIC), Words: words(fit.SelectionScores()...),
			Help: "score that decides which kernel is best"},
		{Name: "greedy", Kind: Truth, Group: Kernels, Field: "Select.Greedy", Places: selects,
			Help: "search over sums and products of the kernels"},
		{Name: "max-terms", Kind: Whole, Group: Kernels, Field: "Select.MaxTerms", Places: selects, Rules: search, Most: maxTerms, Unset: fmt.Sprint(fit.DefaultMaxTerms),
			Help: "largest number of leaves in a kernel of the search"},
		{Name: "budget", Kind: Whole, Group: Kernels, Field: "Select.Budget", Places: selects, Rules: search, Unset: fmt.Sprint(fit.DefaultBudget),
			Help: "largest number of kernels that the search fits"},
		{Name: "std-errors", Kind: Truth, Group: Scores, Field: "Fit.StdErrors", Places: []string{"fit", Spec},
			Help: "report standard errors and 95 % intervals of the parameters, from the Hessian at the optimum, for two gradients per parameter"},
	}
}

func tuningOptions() Entries {
	restarts := Option{Name: "restarts", Kind: Whole, Group: Tuning, Field: "Fit.Settings.Restarts", Places: in(choices, Every), Default: "0", Stated: true, Most: hyperopt.MaxRestarts,
		Help: "number of additional starts, of which gpfit keeps the best result; 0 means 20 for fewer than 300 rows and at most 30 free parameters. From 60 rows on, unless subsets are off, twice as many begin on half of the rows or fewer, and the best go on"}
	alone := restarts
	alone.Places = []string{"fit", "profile", Spec}
	return Entries{
		{Name: "require-psd", Kind: Truth, Group: Model, Field: "Fit.RequirePSD", Places: in(models, Spec),
			Help: "refuse a kernel with a formula, instead of warning, if it is not a covariance function on a sample of the rows"},
		{Name: "max-jitter", Kind: Number, Group: Model, Field: "Fit.MaxJitter", Places: in(models, Spec), Default: "0", Unit: "scaled target²",
			Help: "largest variance that gpfit may add to the diagonal if the covariance is not positive definite; the result has what it added"},
		{Name: "tolerance", Kind: Positive, Group: Model, Field: "Fit.Tolerance", Places: in(models, Spec), Unset: fmt.Sprint(device.DefaultTolerance), Unit: "nats",
			Help: "wanted bound of the error of the NLML by option method tree; exact methods have no such error"},
		alone, restarts,
		{Name: "max-evals", Kind: Whole, Group: Tuning, Field: "Fit.Settings.MaxEvaluations", Places: in(choices, "fit", "profile", "update", Every, Spec), Unset: "1000", Least: 1, Rules: retuned,
			Help: "largest number of evaluations in each descent"},
		{Name: "tolerance-nats", Kind: Number, Group: Tuning, Places: in(choices, "fit", "profile", Every, Spec), Unset: fmt.Sprintf("%v; %v from 2,000 rows on", hyperopt.DefaultToleranceNats, hyperopt.LargeToleranceNats), Unit: "nats",
			Help: "end a descent over all rows when it can lower the objective by no more than this; 0 goes on until the gradient vanishes or rounding hides the changes",
			Set: func(v *Values, value any) {
				if v.Fit.Settings.ToleranceNats = value.(float64); value.(float64) == 0 {
					v.Fit.Settings.ToleranceNats = -1 // never
				}
			}},
		{Name: "optimizer", Kind: Choice, Group: Tuning, Field: "Fit.Settings.Method", Places: []string{"fit", "profile", Spec}, Default: string(hyperopt.LBFGS), Words: words(hyperopt.LBFGS),
			Help: "method of descent"},
		{Name: "coarse", Kind: Choice, Group: Tuning, Field: "Fit.Settings.Coarse", Places: []string{"fit", "profile", Spec}, Default: string(hyperopt.CoarseAuto), Words: words(hyperopt.Coarses()...),
			Help: "tune on growing random subsets before all rows; auto does so from 2,000 rows on. check also descends from the start values over all rows, keeps the lower end, and warns if it was that one"},
		{Name: "checkpoint", Kind: File, Group: Tuning, Field: "Fit.Checkpoint", Places: []string{"fit"}, Placeholder: "FILE",
			Help: "file that records every evaluation until the fit ends: after a crash or Ctrl-C the same command continues from there, with the same bits"},
	}
}

func posteriorOptions() Entries {
	places := []string{"fit"}
	return Entries{
		{Name: "posterior", Kind: Choice, Group: Posterior, Field: "Fit.Posterior", Places: places, Default: string(problem.AutoPosterior), Words: words(problem.PosteriorMethods()...),
			Help: "draw the parameters from their posterior, over which predictions average: laplace, from a normal distribution over their logarithms; hmc, by the No-U-Turn sampler; auto, a few weighed draws if there are fewer than 30 rows for each free parameter; or none"},
		{Name: "posterior-chains", Kind: Whole, Group: Posterior, Field: "Fit.PosteriorChains", Places: places, Unset: "4", Least: 1, Most: maxChains,
			Help: "number of chains of option posterior hmc"},
		{Name: "posterior-warmup", Kind: Whole, Group: Posterior, Field: "Fit.PosteriorWarmup", Places: places, Unset: "500", Least: 1, Most: maxDraws,
			Help: "iterations of each chain in which the sampler adapts, and which are not kept"},
		{Name: "posterior-draws", Kind: Whole, Group: Posterior, Field: "Fit.PosteriorDraws", Places: places, Unset: "1000", Least: 1, Most: maxDraws, NoVariable: true,
			Help: "draws of each chain"},
		{Name: "posterior-out", Kind: File, Group: Posterior, Field: "Output.Draws", Places: places, Placeholder: "FILE",
			Rules: []Constraint{{Needs: []string{"posterior=laplace", "posterior=hmc"}, Text: "option posterior-out writes draws: it needs option posterior laplace or hmc"}},
			Help:  "also write the draws of option posterior to a file, as JSON that ArviZ reads"},
	}
}

func expertOptions() Entries {
	return Entries{
		{Name: "experts", Kind: Text, Group: Experts, Field: "Fit.Experts", Places: scored, Placeholder: "kmeans:K", Unset: "one process of all rows", Examples: []string{"kmeans:"},
			Help:  "divide the rows among local experts: an exact process for each of K clusters of the scaled rows",
			check: func(value any) error { _, err := experts.ParseMethod(value.(string)); return err }},
		{Name: "combine", Kind: Choice, Group: Experts, Field: "Fit.Combine", Places: scored, Unset: "the rule with the smaller NLPD on training rows left out", Words: words(experts.Rules()...),
			Help: "how local experts predict: rbcm, all as a robust Bayesian committee machine; or nearest, the one with the nearest centre"},
		{Name: "expert-rows", Kind: Whole, Group: Experts, Field: "Fit.ExpertRows", Places: scored, Unit: "rows", Unset: "twice the mean", Placeholder: "N",
			Help: "largest number of rows of a local expert; larger clusters are divided again"},
	}
}

func jointOptions() Entries {
	draws := Option{Name: "draws", Kind: Whole, Group: Draws, Field: "Predict.Draws", Places: []string{"predict"}, Default: "0",
		Help: "number of joint draws at the rows, in columns draw0, draw1, …"}
	sampled := draws
	sampled.Places, sampled.Default = []string{"sample"}, "1"
	return Entries{
		draws, sampled,
		{Name: "seed", Kind: Seed, Group: Draws, Field: "Predict.Seed", Places: predictions, Default: "1",
			Help: "seed of the draws: the same seed gives the same draws"},
		{Name: "cov", Kind: File, Group: Draws, Field: "Predict.Covariance", Places: predictions, Placeholder: "FILE", check: checkEnding(columns.CovarianceExtensions...),
			Help: "file for the covariance of the rows: .npy, .npz (with the mean) or .csv"},
		{Name: "observed", Kind: Truth, Group: Draws, Field: "Predict.Observed", Places: predictions,
			Help: "draw new observations, with noise, instead of the function, and give their covariance"},
	}
}

// checkEnding returns a check of a file's name, which may be empty.
func checkEnding(endings ...string) func(any) error {
	return func(value any) error {
		name := value.(string)
		if name == "" || slices.Contains(endings, strings.ToLower(filepath.Ext(name))) {
			return nil
		}
		return errors.New("the name must end in " + OrList(endings))
	}
}

// tableFormats are the formats of a table of results.
var tableFormats = []string{"csv", "jsonl", "json", "parquet", "npy"}

// checkExport checks the form of an export.
func checkExport(value any) error {
	switch value {
	case "", "json", "npz":
		return nil
	case "mlflow":
		return errors.New("pygpfit.mlflow.log, a function in Python, logs models, checkpoints and batches to MLflow")
	}
	return errors.New("must be json or npz")
}

func outputOptions() Entries {
	all := slices.Concat(models, rowTables, paths, []string{"loo", "weights"})
	format := func(help, unset string, places []string, rules []Constraint, words ...string) Option {
		return Option{Name: "format", Kind: Choice, Group: OutputFile, Field: "Output.Format", Places: places, Unset: unset, Words: words, Rules: rules, Help: help}
	}
	// out is option out; alone says that other commands have one of another meaning.
	out := func(places []string, alone bool, unset, help string) Option {
		return Option{Name: "out", Kind: File, Group: OutputFile, Field: "Output.Out", Places: places, Placeholder: "FILE", Unset: unset, NoVariable: alone, Help: help}
	}
	result := format("format of the result", "by the name of option out, or csv", in(predictions, "loo"), nil, tableFormats...)
	points := format("format of option out", "by the name of the file", []string{"profile"}, []Constraint{{Needs: []string{"out"}}}, tableFormats...)
	result.NoVariable, points.NoVariable = true, true // other commands have one of this name
	export := format("form of the result", "by the name of option out, or json", []string{"export"}, nil)
	export.Kind, export.Placeholder, export.Examples, export.check = Text, "json|npz", []string{"json", "npz"}, checkExport
	show := format("form of the result", "", []string{"show"}, nil, "table", "json", "csv", "parquet")
	show.Default = "table"
	return Entries{
		out([]string{"fit"}, false, "the name of DATA with .gpfit, in the current folder", "file for the model"),
		out([]string{"select"}, false, "no model is written", "file for the best model"),
		out(compares, true, "no file is written", "file for the scores of each fit, .csv, .jsonl or .parquet"),
		{Name: "models", Kind: File, Group: OutputFile, Field: "Output.Models", Places: compares, Placeholder: "DIR", Unset: "no models are written",
			Help: "folder for a model of each method, fitted to all rows, or to the training rows of a hold-out"},
		{Name: "models", Kind: File, Group: OutputFile, Field: "Output.Models", Places: []string{"show"}, Placeholder: "DIR", Unset: "no models are written", NoVariable: true,
			Rules: []Constraint{{Excludes: []string{"out", "format"}}},
			Help:  "new folder for the models of all jobs that are values of a column each, under the names of the jobs; gpfit fits them again"},
		out(paths, true, "no file is written", "file for the table of the path, .csv, .jsonl or .parquet"),
		out([]string{"update"}, false, "the name of MODEL with -updated, in the current folder", "file for the model with the new rows"),
		out([]string{"profile"}, true, "no table is written", "file for the table of all points, whose name ends in .csv, .jsonl, .json, .parquet or .npy"),
		out(in(results, "predict", "sample"), true, "standard output", "file for the result"),
		out([]string{"show"}, false, "standard output", "file for the result, which is written whole or not at all"),
		out([]string{"report"}, false, "the name of MODEL with .html, in the current folder, or RUN/report.html, which gpfit replaces", "file for the page, in HTML, or - for standard output"),
		result, points, export, show,
		{Name: "model", Kind: Text, Group: OutputFile, Field: "Output.Model", Places: []string{"show"}, Placeholder: "JOB", Unset: "the results of all jobs", NoVariable: true, Examples: []string{"shops.rbf.seed-1/Oslo"},
			Rules: []Constraint{{Needs: []string{"out"}}, {Excludes: []string{"format", "models"}}},
			Help:  "write the model of a job that is a value of a column each to option out: gpfit fits it again, to the same bits on the same machine"},
		{Name: "save-factor", Kind: Truth, Group: OutputFile, Field: "Output.SaveFactor", Places: []string{"fit", Spec}, Default: "false", Stated: true,
			Rules: []Constraint{{Excludes: []string{"experts"}, Text: "option save-factor: local experts have no common Cholesky factor: leave it out; predictions factor the matrix of each expert again"}},
			Help:  "store the Cholesky factor in the model, 8n² bytes, so that predictions begin at once"},
		{Name: "save-factor", Kind: Truth, Group: OutputFile, Field: "Output.SaveFactor", Places: []string{"update"}, Unset: "whether MODEL has it",
			Help: "store the Cholesky factor in the model, 8n² bytes, so that later updates and predictions begin with it"},
		{Name: "force", Kind: Truth, Group: OutputFile, Field: "Output.Force Predict.Replace", Places: slices.Concat(models, rowTables, results, paths, []string{"bench", "kernel show", "show", "report"}),
			Help: "replace output files that exist"},
		{Name: "json", Kind: Truth, Group: OutputFile, Field: "Output.JSON", Places: in(all, "kernel check", "kernel show", "inspect", "devices", "version", "export", "report"),
			Help: "print one JSON object instead of text"},
		{Name: "json", Kind: Truth, Group: OutputFile, Field: "Output.JSON", Places: []string{"batch", "resume", "show", "check"},
			Help: "print JSON lines instead of text"},
		{Name: "json", Kind: Truth, Group: OutputFile, Field: "Output.JSON", Places: []string{"bench"},
			Help: "print one JSON object per line instead of text: the machine, then each n on each device"},
		{Name: "quiet", Kind: Truth, Group: OutputFile, Field: "Output.Quiet", Places: in(all, "bench", "report", "batch", "resume", "check"),
			Help: "print only warnings and errors on standard error, no progress and no notes"},
		{Name: "graph", Kind: File, Group: OutputFile, Field: "Output.Graph", Places: []string{"nlml"}, Placeholder: "FILE",
			Help: "also write the expression graph and its derivatives to a file for Graphviz (dot -Tsvg FILE)"},
		{Name: "report", Kind: File, Group: OutputFile, Field: "Output.Page", Places: []string{"fit"}, Placeholder: "FILE",
			Help: "also write the page of gpfit report to FILE.html, with the scores of held-out rows if there are any"},
	}
}

func deviceOptions() Entries {
	all := slices.Concat(models, rowTables, []string{"loo", "weights", "report", Every, Spec})
	chosen := func(help string, places ...string) Option {
		return Option{Name: "device", Kind: Text, Group: Device, Field: "Compute.Device", Places: places, Default: device.Auto, Stated: true, Placeholder: "NAME", Examples: []string{device.Auto, "cpu"}, Help: help,
			Single: "a job has one device; a kind without a number means any of its devices"}
	}
	return Entries{
		chosen("where to compute: auto, a name from 'gpfit devices' such as cuda:0, or a kind such as cuda for any of its devices; several, separated by commas, except in a batch", all...),
		chosen("where to compute: auto, or one or more names from 'gpfit devices', separated by commas", "bench"),
		chosen("the device to choose: auto, or a name", "devices"),
		methodOption(in(all, "bench")),
		{Name: "fallback", Kind: Text, Group: Device, Field: "Compute.Fallback", Places: in(all, "bench"), Placeholder: "NAME",
			Help: "device to continue on if option device names one that is not available, is lost or is too small"},
		{Name: "threads", Kind: Whole, Group: Device, Field: "Compute.Threads", Places: in(all, "bench"), Most: device.MaxThreads, Default: "0", Stated: true, Unset: "all; for a job of a batch, a number that depends on its size",
			Help: "number of CPU threads; results do not depend on it"},
		{Name: "memory", Kind: Memory, Group: Jobs, Field: "Compute.Memory", Places: []string{Spec}, Unit: "bytes, with a unit", Unset: "no limit",
			Help: "the most memory that one job may plan for, such as 4GiB"},
		{Name: "retries", Kind: Whole, Group: Jobs, Field: "Compute.Retries", Places: []string{Spec}, Default: "2", Stated: true, Most: maxRetries,
			Help: "how often to retry a job whose device was lost or had too little memory"},
	}
}

// methodOption returns the option of the method, whose help describes all methods.
func methodOption(places []string) Option {
	names, help := []string{device.Chosen}, []string{device.Chosen + ", the exact method with the fewest operations that fits in memory"}
	for _, m := range method.All() {
		about := m.About()
		names, help = append(names, about.Name), append(help, about.Name+", "+about.Help)
	}
	help[len(help)-1] = "or " + help[len(help)-1]
	return Option{Name: "method", Kind: Text, Group: Device, Field: "Compute.Method", Places: places, Default: device.Chosen, Placeholder: "NAME", Examples: names,
		Help: "how to compute: " + strings.Join(help, "; ")}
}
