// Package tiles is the exact method for matrices too large for one memory. It stores the lower half
// of Σ in square tiles ([tiling.Bank]) and computes with three passes over them in place: the
// factor L, its inverse U = L⁻ᵀ, and Σ⁻¹ = UUᵀ, whose tiles are contracted with ∂K at once and
// never stored. For blocks i ≥ j of rows,
//
//	L_ij = (Σ_ij − Σ_k<j L_ik·L_jkᵀ)·L_jj⁻ᵀ          (factor.go)
//	U_ji = −(Σ_j≤k<i U_jk·L_ikᵀ)·L_ii⁻ᵀ, in the place of L_ij  (contract.go)
//	Σ⁻¹_ji = Σ_k≥i U_jk·U_ikᵀ                        (contract.go)
//
// (Golub & Van Loan, Matrix Computations, 4th ed., §4.2.8 and §3.1, by blocks). A pass is a list of tasks, each of
// which computes one tile from others in a fixed order. So neither the number of devices nor the place of a tile has an
// effect on the bits of a result.
//
// A tile has a home: the host, whose memory may be a file, or a card. Workers execute tasks: the threads of the host, which
// compute in place, or one for each card (pass.go, worker.go). A card fetches tiles that are not at home there to a cache.
// Since a card's tasks are known in advance, the cache drops the tile whose next use is furthest away (cache.go; Belady, IBM
// Systems Journal 5 (1966), 78). layout.go and plan.go choose the order of a tile and the homes.
package tiles
