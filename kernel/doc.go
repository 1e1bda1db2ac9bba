// Package kernel parses, compiles and evaluates covariance functions. It derives them by parameters
// and inputs.
//
// Each covariance function is written once, as a Gorgonia expression of parameters and of features
// of a pair of points (a squared distance, an inner product, …). family.go defines the built-in
// families, and you can define your own [Family] in the same way. Gorgonia differentiates the
// expression, and the package compiles value and derivatives to operations that the CPU and the GPU
// run. No derivative of a covariance function is written by hand.
//
// Typical use, with the files that define each call:
//
//	expr, err := kernel.Parse("rbf(ard) + linear*periodic(dims=0)") // expr.go, parse.go
//	prog, err := kernel.Compile(expr, kernel.Columns(d))           // compile.go, pair.go, program.go
//	ev := kernel.NewEvaluator(prog)                                // evaluate.go
//	ev.Bind(theta)                                                 // natural parameters
//	ev.Row(dst, x, i, y, j0, j1)                                   // k(x_i, y_j)
//	ev.RowGradient(grad, adj, x, i, y, j0, j1)                     // Σ_j adj_j ∂k(x_i, y_j)/∂log θ
//	ev.RowInputGradient(grad, adj, x, i, y, j0, j1)                // Σ_j adj_j ∂k(x_i, y_j)/∂x_i
//
// The families, with a lengthscale ρ or period p for all columns or, with ard, one for each:
//
//	rbf, matern12, matern32, matern52    stationary functions of the scaled distance
//	matern(nu)     Matérn of order 0.5, 1.5, … 10.5; 2.5 if not given
//	wendland(q)    piecewise polynomials, 0 from the lengthscale on; q is 0, 1 or 2
//	rq             a mixture of rbf over lengthscales; alpha
//	periodic       exp(−2 Σ sin²(πΔ/p)/ρ²); lengthscale, without units, and period
//	cosine         cos(2π ΣΔ/p); period
//	linear         Σ x x′; with ard, divided by squares of lengthscales
//	poly(degree)   (offset + Σ x x′)^degree, with ard as linear; the degree is 2 if not given
//	arcsine        the neural network covariance; lengthscale and offset
//	gibbs          rbf whose lengthscale changes with the inputs; lengthscale_low, lengthscale_high
//	hamming        exp(−Σ [x ≠ x′]/ρ²), for categories; lengthscale, without units
//	constant       1; accepts dims and ard without effect
//	additive(of)   the sum over columns of another family's functions; with ard, a variance for each
//
// Families of distances take `rotated` and `sphere` on two columns (distances.go).
//
// Every leaf takes `dims=`, `ard`, and its parameters and signal_variance as start values. You can
// write other functions as a formula (formula.go, formulaparse.go),
//
//	formula(exp(-r/a)*cos(2*pi*r/b), a=1, b=2)
//
// of the variables r, r2, dot, xx, yy, mismatches, x and y, of functions, and of parameters with
// start values; docs/kernels.md describes them. [Unproved] reports whether an expression contains a
// formula or a custom family, and [CheckKernelhood] tests whether an expression is a covariance
// function. [Terms] splits a sum into its terms. [Parser] reads expressions with custom families.
//
// Package symbolic builds and differentiates the expression; package oplist simplifies the operations.
// For the CPU, select.go chooses a loop over a row of pairs in kernel/vec for each operation and
// merges operations that one loop can do together; rows.go runs the loops and computes features and
// their sums by columns. The loops exist for AVX-512, for AVX2 and in portable Go.
// GPFIT_CPU=avx512, avx2 or generic selects a variant (neon means portable Go here); run the tests
// with each. For a GPU, device/cuda/kernels translates the operations to PTX.
//
// Every feature costs O(d) per pair. An evaluator takes O(row length) memory.
package kernel
