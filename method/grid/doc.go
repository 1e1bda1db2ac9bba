// Package grid is the exact method for full grids: the rows are all combinations of the values of some
// groups of columns, and the kernel is a product over the groups. Then
//
//	K = c·K_1 ⊗ K_2 ⊗ …,  K_a = U_aΛ_aU_aᵀ,  Σ = U·D·Uᵀ,  U = U_1 ⊗ U_2 ⊗ …,  D = c·Λ_1 ⊗ Λ_2 ⊗ … + σ²,
//
// so that one eigenproblem for each group, and products with its small matrices, axis by axis, give the
// likelihood, its gradient and predictions: Σ g_a³ + n·Σ g_a operations and n numbers for g_a values of
// each group, instead of n³ and n². All results equal the dense method's up to rounding.
//
// groups.go reads the groups of columns from a kernel, and lattice.go finds the grid in the rows and
// multiplies by the matrices of an axis. model.go has the matrices of the axes, and spectrum.go their
// eigenvectors and D. The other files have the calls of the workspace.
//
// The formulas follow Saatçi, Scalable inference for structured Gaussian process models (PhD thesis,
// Cambridge, 2011), chapter 5.
package grid
