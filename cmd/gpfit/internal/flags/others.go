package flags

import (
	"regexp"

	"gpfit/internal/suggest"
)

var flagWord = regexp.MustCompile(`--([a-z-]+)`)

// otherFlags are names of options in other programs.
var otherFlags = suggest.Others{
	"-did you mean --mean linear?":                                     "trend trends trendformula trendfunction meanfunction",
	"-did you mean --scores cv?":                                       "cv scoring crossval crossvalidate crossvalidation kfold nfolds",
	"-did you mean --noise, or --fix noise_variance=0.01?":             "nugget nuggetestim nuggetestimate jitter sigma sigman sigma2 noisevar noisevariance noiselevel likelihood",
	"-did you mean --noise-column, or --fix noise_variance=0.01?":      "alpha",
	"-progress and notes are shown unless --quiet is given":            "verbose verbosity v progress messages trace",
	"-without --kernel, a fit finds seasons; --kernel periodic is one": "seasonality seasonal season period freq frequency",
	"-did you mean --restarts?":                                        "nrestarts nrestart numrestarts nrestartsoptimizer multistart starts",
	"-did you mean --standardize?":                                     "normalize normalizey scale scaling",
	"-did you mean --kernel?":                                          "covtype cov covariance covfunction covmodule covarmodule nu", "-did you mean --target, --features and --mean?": "formula",
	"-the table is an argument, without the name of a flag": "data datafile table csv file input", "-did you mean --device cuda?": "gpu cuda usegpu", "-did you mean --features?": "x xcols xcolumns inputs predictors columns",
	"-predictions have intervals of 95 %, and others with the option interval of predict": "ci confint", "-did you mean --target?": "y ycol ycolumn label labels response output-column", "-did you mean --out?": "output outfile o save savemodel",
	"-the file of the model is an argument, and --out names the file of a fit": "model modelfile",
	"-did you mean --set lengthscale=1, or --bounds lengthscale=0.1:10?":       "lengthscale lengthscales theta range ranges lower upper",
	"-did you mean --max-evals?": "maxiter maxiters maxiterations iterations iters niter numiters epochs maxit steps trainingiter trainingiterations ntrainingiter", "-did you mean --tolerance-nats?": "tol ftol gtol",
	"-the mean has estimated coefficients, whose uncertainty counts: universal kriging": "type", "-did you mean --threads?": "njobs jobs numthreads nthreads cores workers j", "-did you mean --seed?": "randomstate randomseed rng",
	"-did you mean --holdout?": "test testsize testfraction validation split", "-did you mean --experts?": "inducing ninducing numinducing numinducingpoints inducingpoints m",
	"-did you mean --missing?": "naaction nan na dropna", "-did you mean --target-transform?": "warp transform boxcox log",
	"-did you mean --weight-column?": "weights weight sampleweight", "-did you mean --interval?": "quantiles quantile level alphas confidence",
	"-a search along lines sets the steps; --max-evals limits them":                     "lr learningrate stepsize",
	"-a fit maximizes the likelihood (ML); --objective loo-rmse is leave-one-out (LOO)": "estimmethod",
	"-predictions have a deviation by themselves":                                       "std returnstd stddev uncertainty variance",
}
