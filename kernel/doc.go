// Package kernel holds the covariance functions of Gaussian processes: their
// text form, their parameters, and what they come to for a row of pairs of points.
//
// A covariance function is written down once, as a Gorgonia expression of features
// of a pair of points (a squared distance, an inner product, …) and parameters:
// families.go has those that are built in, and a [Family] of one's own is as good.
// Gorgonia differentiates it, and value and derivatives are compiled to operations
// that the CPU and the GPU run. No derivative of a covariance function is written by
// hand.
//
// The way through the package:
//
//	expr, err := kernel.Parse("rbf(ard) + linear*periodic(dims=0)") // expr.go, parse.go
//	prog, err := kernel.Compile(expr, kernel.Columns(d))           // compile.go, pair.go, program.go
//	ev := kernel.NewEvaluator(prog)                                // evaluate.go
//	ev.Bind(theta)                                                 // natural parameters
//	ev.Row(dst, x, i, y, j0, j1)                                   // k(x_i, y_j)
//	ev.RowGradient(grad, adj, x, i, y, j0, j1)                     // Σ_j adj_j ∂k(x_i, y_j)/∂log θ
//	ev.RowInputGradient(grad, adj, x, i, y, j0, j1)                // Σ_j adj_j ∂k(x_i, y_j)/∂x_i
//
// The families, with a lengthscale ρ or period p for all columns or, with ard,
// one for each:
//
//	rbf, matern12, matern32, matern52    stationary, of the scaled distance
//	matern(nu)     Matérn's of any order 0.5, 1.5, … 10.5; 2.5 if not given
//	wendland(q)    piecewise polynomials, 0 from the lengthscale on; q is 0, 1 or 2
//	rq             a mixture of rbf over lengthscales; alpha
//	periodic       exp(−2 Σ sin²(πΔ/p)/ρ²); lengthscale, without units, and period
//	cosine         cos(2π ΣΔ/p); period
//	linear         Σ x x′; with ard, divided by squares of lengthscales
//	poly(degree)   (offset + Σ x x′)^degree, likewise; the degree is 2 if not given
//	arcsine        that of a neural network; lengthscale and offset
//	gibbs          rbf whose lengthscale changes with the inputs; lengthscale_low, lengthscale_high
//	hamming        exp(−Σ [x ≠ x′]/ρ²), for categories; lengthscale, without units
//	constant       1; takes dims and ard without effect
//
// Every leaf takes `dims=`, `ard`, and its parameters and signal_variance as
// start values. What is no family can be a formula (formula.go and those after it),
//
//	formula(exp(-r/a)*cos(2*pi*r/b), a=1, b=2)
//
// of the variables r, r2, dot, xx, yy, mismatches, x and y, functions, and parameters
// with start values; docs/kernels.md says more. [Unproved] tells expressions with one.
// [Terms] takes a sum apart, [Parser] knows families of the user's
// own, [CheckKernelhood] looks whether one is a covariance function.
//
// What the packages below do: package pair has the expression and its
// differentiation, package code the operations and their simplification. On the CPU
// select.go chooses for each operation a loop over a row of pairs in internal/vec
// (which has them for AVX-512, for AVX2 and in Go), recognising those that one loop
// can do together; measure.go computes features and their sums by columns. On a GPU
// the operations become PTX (device/cuda/kernels). GPFIT_CPU=avx512, avx2 or generic
// forces a variant of the loops, and the tests are meant to be run with each.
//
// Cost: O(d) per pair for every feature; memory O(row length) per evaluator.
package kernel
