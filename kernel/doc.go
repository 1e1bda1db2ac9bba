// Package kernel holds the covariance functions of Gaussian processes: their
// text form, their parameters, and the flat program that every backend
// evaluates tile by tile.
//
// The way through the package:
//
//	expr, err := kernel.Parse("rbf(ard) + linear*periodic(dims=0)") // expr.go, parse.go
//	prog, err := kernel.Compile(expr, kernel.Columns(d))           // compile.go, program.go
//	ev := kernel.NewEvaluator(prog)                                // evaluate.go, reverse.go
//	ev.Bind(theta)                                                 // natural parameters
//	ev.Row(dst, x, i, y, j0, j1)                                   // k(x_i, y_j)
//	ev.RowGradient(grad, adj, x, i, y, j0, j1)                     // Σ_j adj_j ∂k(x_i, y_j)/∂log θ
//	ev.RowInputGradient(grad, adj, x, i, y, j0, j1)                // Σ_j adj_j ∂k(x_i, y_j)/∂x_i
//
// The families, with a lengthscale ρ or period p for all columns or, with ard,
// one for each; family.go defines them:
//
//	rbf, matern12, matern32, matern52    stationary, of the scaled distance
//	rq             the same, a mixture of rbf over lengthscales; alpha
//	periodic       exp(−2 Σ sin²(πΔ/p)/ρ²); lengthscale, without units, and period
//	cosine         cos(2π ΣΔ/p); period
//	linear         Σ x x′; with ard, divided by squares of lengthscales
//	poly(degree)   (offset + Σ x x′)^degree, likewise; the degree is 2 if not given
//	constant       1; takes dims and ard without effect
//
// Every leaf takes `dims=`, `ard`, and its parameters and signal_variance as
// start values. [Terms] takes a sum apart, [Parser] knows kernels of the user's
// own ([Custom]), [CheckKernelhood] looks whether one is a covariance function.
//
// A program is data: a list of features of a pair of points (squared distances,
// inner products, sums of sin², sums of differences), and a list of instructions
// on a stack of numbers. Leaves with equal features share them. The evaluator
// here runs it on the CPU, a row of pairs at a time; a GPU runs the same lists
// with one pair per thread. The CPU's formulas of the leaves are in leaf.go, the
// GPU's in device/cuda/kernels/source/program.h; the tests of either compare them
// with the definitions. The loops over a row are those of internal/vec, which has
// them for AVX-512, for AVX2 and in Go. GPFIT_CPU=avx512, avx2 or generic forces
// one, and the tests are meant to be run with each.
//
// Cost: O(d) per pair for every feature; memory O(row length) per evaluator.
package kernel
