// Package merged is the exact method for repeated rows: it gives the results of the dense method,
// but for rounding, at the cost of the u different rows instead of all n.
//
// Rows with equal inputs have equal rows of K. With the noise variances d_i of the rows i of a
// group, the weights w_i = 1/d_i, W = Σ w_i and the shares e_i = w_i/W,
//
//	Σ⁻¹ = B + E·Σ_u⁻¹·Eᵀ,  Σ_u = K_u + diag(1/W),  E_ig = e_i for the rows i of group g,
//
// where K_u belongs to one row of each group and B = diag(w) − wwᵀ/W within each group, by the
// formula of Sherman, Morrison and Woodbury (Binois, Gramacy & Ludkovski, Practical
// heteroscedastic Gaussian process modeling for large simulation experiments, Journal of
// Computational and Graphical Statistics 27 (2018), 808, section 3.1, have it for one noise
// variance in each group). All results follow from these two terms.
//
// groups.go finds the groups, weights.go has what depends on the noise, and the other files have
// the calls of the workspace.
package merged
