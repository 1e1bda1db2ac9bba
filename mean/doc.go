// Package mean parses mean functions and fits their coefficients by generalized least
// squares. A mean function is a sum of basis functions with coefficients, m(x) = Σ_j β_j h_j(x).
//
// Start with [Parse]. [Expr.Basis] places the centres on the data, [Basis.Evaluate] returns the
// matrix H of the functions' values, and [NewGLS] fits coefficients for a covariance.
package mean
