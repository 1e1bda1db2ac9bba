// Package finite is the exact method for kernels of few features: K = ΦVΦᵀ with r functions φ_j of a
// point, whose weights are independent and have the variances V. With Σ = K + D for the noise D,
// Ψ = ΦV^½ and B = I + ΨᵀD⁻¹Ψ, the formulas of Woodbury and Sylvester (Rasmussen & Williams 2006,
// section 2.1 and eq. A.9) give all results in O(n·r²) operations:
//
//	Σ⁻¹ = D⁻¹ − D⁻¹ΨB⁻¹ΨᵀD⁻¹,  log|Σ| = Σ_i log d_i + log|B|,  ΨᵀΣ⁻¹Ψ = I − B⁻¹,  Σ⁻¹Ψ = D⁻¹ΨB⁻¹.
//
// B is never formed: its Cholesky factor Rᵀ comes from the QR factorization of D^-½Ψ above the unit
// matrix, which keeps twice as many digits (Golub & Van Loan, Matrix Computations (2013), section 5.3).
//
// expansion.go has the features, blocks.go the passes over the rows, factor.go the factorization, and
// the other files the calls of the workspace.
package finite
