package device

import (
	"context"

	"gpfit/kernel"
)

// DerivativeProducts is the capability of a [Workspace] to compute what second derivatives of a
// likelihood need: products of all derivatives of K with vectors, and of the factor's inverse.
// With v = α they give the average-information matrix (Gilmour, Thompson & Cullis, Biometrics 51
// (1995), 1440), with random v an estimate of the traces tr(Σ⁻¹ ∂Σ Σ⁻¹ ∂Σ).
type DerivativeProducts interface {
	// MultiplyDerivatives writes the products (∂K/∂log θ_p)·v of every parameter p of the
	// program with every column v of vectors, n×m: column p·m + k of dst, n×(P·m), belongs to
	// the p-th of P parameters and the k-th vector. It does not depend on Form. One pass over the
	// pairs of points serves all products, which take O(P·m·n²) operations.
	MultiplyDerivatives(ctx context.Context, prog *kernel.Program, theta, vectors []float64, m int, dst []float64) error
	Whitener
}

// Whitener is the capability of a [Workspace] to compute with the inverse of a factor of Σ.
type Whitener interface {
	// Whiten overwrites b, n×m, by L⁻¹b or, if transposed, by L⁻ᵀb, for the factor
	// L of Σ = LLᵀ, any matrix with that property; of a [FactorStore] it is the factor that it stores.
	// It takes n²m flops.
	Whiten(ctx context.Context, b []float64, m int, transposed bool) error
}

// QuickForming is the property of a [Workspace] whose Form takes no more operations than a few products
// with vectors: second derivatives then come from differences of gradients, and need no random vectors.
type QuickForming interface {
	// FormsQuickly reports whether it does.
	FormsQuickly() bool
}
