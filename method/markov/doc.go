// Package markov is the exact method for series: one column and kernels of finitely many states, matern12,
// matern32, matern52, matern, cosine, linear, constant, and sums and products of these. Such a
// process is the first coordinate of a linear stochastic differential equation, so that a Kalman
// filter gives the likelihood, and sweeps over the sorted rows give Σ⁻¹b, the diagonal of Σ⁻¹, the
// gradient and predictions: O(n·s³) operations and O(n·s²) memory for n rows and s states. All
// results equal the dense method's up to rounding.
//
// layout.go reads the states from a kernel. matern.go, gaps.go and transition.go compute how they change
// from row to row. filter.go and form.go form and factor Σ. solve.go, contract.go, vectors.go, middle.go
// and products.go have the sweeps of the calls of a workspace, and information.go has the sweep back of
// most of them; predict.go and joint.go have the predictions. one.go, two.go and three.go are the sweeps
// of one Matérn kernel with as many states, in local variables.
//
// The formulas follow Hartikainen & Särkkä, Kalman filtering and smoothing solutions to temporal
// Gaussian process regression models (2010), Durbin & Koopman, Time Series Analysis by State Space
// Methods (2012), chapter 4, and Särkkä & Solin, Applied Stochastic Differential Equations (2019),
// chapters 6 and 12. The states are f, f′/λ, f″/λ², …, so that a lengthscale changes only λ times the
// gap between two rows.
package markov
