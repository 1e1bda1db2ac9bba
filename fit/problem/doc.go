// Package problem turns a table and options into a checked problem: [New] scales the data,
// makes kernel and mean, and chooses start values, bounds, ties and priors.
//
// The parts, from the top down:
//
//	New                   check everything                      (problem.go)
//	ParameterList         start values, options, ties, priors   (parameters.go, startvalues.go, …)
//	Model                 kernel and mean                       (model.go)
//	Sample                check, split, leave out constants, scale   (sample.go, folds.go, …)
//	Options, Events, Data                                       (options.go, data.go)
package problem
