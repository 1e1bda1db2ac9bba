package device

import "context"

// Bounded is the capability of a [Workspace] of a method that computes with Σ̃ = Σ + E instead of Σ, and knows
// how much E changes the results.
type Bounded interface {
	// Bound returns the bound of the value since the last Form and Solve.
	Bound() Bound
	// Verify computes elements of Σ again, at the parameters of the last Form, and compares them with Σ̃. For m right sides y
	// (n×m) and their solutions alpha = Σ̃⁻¹y it also returns what E changes in yᵀΣ⁻¹y. It costs n² elements of the
	// kernel for the rows that it takes, all or as many as a stated work allows.
	Verify(ctx context.Context, y, alpha []float64, m int) (Verified, error)
}

// LeastTolerance is the smallest [Bound.Tolerance], about the rounding of an element.
const LeastTolerance = 1e-14

// Bound is the effect of E on an evaluation. Lengths are in nats.
type Bound struct {
	// Tolerance is the largest element of E, relative to the largest variance of the kernel, for which the blocks were made.
	Tolerance float64
	// LogDet is an estimate of the error of ½log|Σ̃| before a comparison, without rounding errors: 2·tol·amplitude·√n/σ², an empirical constant.
	LogDet float64
	// Fit is an upper limit of the error of ½yᵀΣ̃⁻¹y for the right side with the largest one: ½·tol·√n·‖Σ̃⁻¹y‖² and rounding.
	Fit float64
	// Rank is the rank of the largest block.
	Rank int
}

// Verified is the result of a comparison with elements of Σ.
type Verified struct {
	// Rows is the number of rows of Σ that were computed, at most n.
	Rows int
	// Miss is max|Ev| over two vectors of random signs in units of √n·tol. Above 4 a block has missed part of Σ.
	Miss float64
	// LogDet is a bound of the error of ½log|Σ̃| by the comparison, with rounding errors; +Inf if it finds none.
	LogDet float64
	// Correction and Rest have an element for each right side, if all rows were computed: with r = y − Σα̃, the value of
	// ½yᵀΣ⁻¹y is ½yᵀα̃ + Correction + a rest between 0 and Rest, Correction = ½rᵀα̃ and Rest = ‖r‖²/(2σ²), but for rounding, which is in Rest, too.
	Correction, Rest []float64
	// Gradient is the largest bound of the errors of the derivatives of m·½log|Σ̃| + ½Σ yᵀΣ̃⁻¹y by the logarithms of the parameters and of the noise, to
	// the first order in E; +Inf if the comparison did not compute derivatives.
	Gradient float64
}
