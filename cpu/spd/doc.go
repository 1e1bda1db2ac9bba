// Package spd factors and inverts symmetric positive definite matrices. It comes close to the
// speed of a matrix product, in float64. A [Symmetric] of order n takes little more than n²
// numbers and holds, one after the other and side by side,
//
//	Σ, then its Cholesky factor L, in the lower triangle
//	Σ⁻¹ in the upper triangle
//
// # Storage
//
// The rows are stored in panels: as many rows as a vector has lanes (8 with AVX-512, 4 with
// AVX2 and NEON), column by column. Element (i, j) is number i mod lanes of column j of panel
// i / lanes. A vector instruction reads one column of a panel. Every product here has the form
//
//	C_ij = Σ_k B_ik·A_jk
//
// for rows i and j of stored matrices, so the micro-kernels read their operands from the
// matrix itself, and nothing is packed. With L·X = y by rows, Σ = L·Lᵀ and U = L⁻ᵀ:
//
//	L_ij = (Σ_ij − Σ_k<j L_ik·L_jk) / L_jj          (factor.go)
//	U_ji = (δ_ji − Σ_j≤k<i U_jk·L_ik) / L_ii        (invert.go)
//	Σ⁻¹_ji = Σ_k≥i U_jk·U_ik                         (square.go)
//
// (Golub & Van Loan, Symmetric Computations, 4th ed., §4.2.5 and §3.1). L's diagonal tiles
// stand apart, because the tiles on the diagonal of the matrix belong to both triangles.
// Rows and columns that fill the last panel are the identity's.
//
// # Tiles
//
// [Tiles] has the same arithmetic for matrices in square tiles that do not lie together in memory, on the caller's
// goroutine (tile.go, tileproduct.go).
//
// # Threads and bits
//
// Tasks are tiles of some panels. Threads take them in an order in which each depends only
// on earlier ones, and wait for what they need (tasks.go). Each element is one chain of
// operations along k, cut at multiples of 288; so the bits depend only on the variant, not
// on the number of threads or the size of tasks.
package spd
