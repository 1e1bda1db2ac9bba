// Package mean is the mean function of a Gaussian process: a sum of basis
// functions with coefficients, m(x) = Σ_j β_j h_j(x). It knows the text form,
// the functions and their conversion between scaled and original units; the
// coefficients are found elsewhere.
//
// Start with [Parse]. [Expr.Basis] puts centres on the data; [Basis.Evaluate]
// gives the matrix H of the functions' values.
package mean
