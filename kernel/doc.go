// Package kernel holds the covariance functions of Gaussian processes: their
// text form, their parameters, and the flat program that every backend
// evaluates tile by tile.
//
// The way through the package:
//
//	expr, err := kernel.Parse("rbf(ard) + matern32*rbf(dims=0)") // expr.go, parse.go
//	prog, err := kernel.Compile(expr, kernel.Columns(d))         // program.go
//	ev := kernel.NewEvaluator(prog)                              // evaluate.go
//	ev.Bind(theta)                                               // natural parameters
//	ev.Row(dst, x, i, y, j0, j1)                                 // k(x_i, y_j)
//	ev.RowGradient(grad, adj, x, i, y, j0, j1)                   // Σ_j adj_j ∂k(x_i, y_j)/∂log θ
//
// A program is data: a list of features (such as squared distances) of a pair
// of points, and a list of instructions on a stack of numbers. The evaluator
// here runs it on the CPU, a row of pairs at a time; a GPU runs the same lists
// with one pair per thread. The formulas of the leaves are in family.go and
// nowhere else; the loops over a row are those of internal/vec, which has them
// for AVX-512, for AVX2 and in Go. GPFIT_CPU=avx512, avx2 or generic forces
// one, and the tests are meant to be run with each.
//
// Cost: O(d) per pair for every feature; memory O(row length) per evaluator.
package kernel
