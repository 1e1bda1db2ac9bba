// Package tree is the method of a hierarchical factor for kernels of one to three columns and many points
// (Ambikasaran, Foreman-Mackey, Greengard, Hogg & O'Neil, arXiv:1403.6015). It is not exact, and says how far it is off
// ([device.Bounded]).
//
// The points are in the order of a k-d tree. At each of its nodes Σ is [A₁ B; Bᵀ A₂] with a block B of low rank; the leaves
// are dense. Rows I and columns J of B, the pivots, give its interpolation
//
//	B ≈ Y·B_IJ·Xᵀ,  Y = B_:J·B_IJ⁻¹,  Xᵀ = B_IJ⁻¹·B_I:.
//
// An elimination with rook pivots among sampled rows and columns chooses the pivots. Then neighbours in the coordinates that
// the kernel reads, random partners of every row and column, and some whole rows and columns are compared with elements
// of the kernel; what the interpolation misses joins the sample. Repeated points count once. QR factors of Y and X compress the block to U·Vᵀ.
//
// The factor is symmetric, Σ̃ = WWᵀ. With Aᵢ = WᵢWᵢᵀ, W₁⁻¹U·Vᵀ·W₂⁻ᵀ = Q₁MQ₂ᵀ and orthonormal Q₁ and Q₂,
//
//	W = diag(W₁, W₂)·[I 0; Q₂MᵀQ₁ᵀ I + Q₂(C − I)Q₂ᵀ],  CCᵀ = I − MᵀM,  log|Σ̃| = log|A₁| + log|A₂| + log|CCᵀ|.
//
// It keeps the digits that the formula of Woodbury loses where noise is small. From the root on, Σ̃⁻¹ at a node is the node's own inverse
// plus ZZᵀ. With Gᵢ = Wᵢ⁻ᵀQᵢ the children have
//
//	Z₁ = [Z, G₁P],  Z₂ = [Z, G₂MᵀL],  P = MC⁻ᵀ,  LLᵀ = I + PPᵀ,  (Σ̃⁻¹)₁₂ = Z₁Z₂ᵀ − G₁PC⁻¹G₂ᵀ  with Z's rows,
//
// and the pivots of a block serve for its derivative, too (compare Geoga, Anitescu & Stein, arXiv:1808.03215). For the block H of
// the adjoint,
//
//	⟨H, ∂B⟩ = ⟨HX, ∂B_:J⟩ + ⟨YᵀH, ∂B_I:⟩ − ⟨YᵀHX, ∂B_IJ⟩.
//
// Every sum has an order of its own that does not depend on the number of threads.
package tree
