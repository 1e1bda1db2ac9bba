// Package baseline fits the simpler regressions: ridge, Bayesian linear regression, the lasso,
// linear splines, kernel ridge regression and regression on basis functions.
//
// A [Method] learns a [Model] from rows of numbers and their targets, and the model
// predicts. Each method is a struct whose zero value is a sensible default, which chooses
// its penalty from the data:
//
//	method            file            the penalty is chosen by
//	[Ridge]           ridge.go        leave-one-out in closed form
//	[BayesianLinear]  bayes.go        marginal likelihood
//	[Lasso]           lasso.go        K-fold cross-validation along the path (coordinates.go)
//	[Spline]          spline.go       marginal likelihood
//	[KernelRidge]     kernelridge.go  leave-one-out
//	[Basis]           basis.go        as BayesianLinear, on basis functions
//
// Ridge, BayesianLinear and Spline are penalized least squares with columns that are penalized and
// columns that are not. They share its reduction (reduced.go), its solution
// (solve.go) and its spectrum, from which leave-one-out and marginal likelihood follow for every
// penalty (spectrum.go). [Design] says how columns are centred and scaled (design.go).
//
// The algorithms are textbook ones. Each says where its formulas come from:
//
//	ESL    Hastie, Tibshirani, Friedman: The Elements of Statistical Learning, 2nd ed.
//	RW     Rasmussen, Williams: Gaussian Processes for Machine Learning, 2006
//	PRML   Bishop: Pattern Recognition and Machine Learning, 2006
//	RWC    Ruppert, Wand, Carroll: Semiparametric Regression, 2003
//	FHT    Friedman, Hastie, Tibshirani: Regularization paths for generalized linear
//	       models via coordinate descent, J. Stat. Softw. 33 (2010)
//
// Nothing is random except the folds of the lasso, which have a seed.
package baseline
