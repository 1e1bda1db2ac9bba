// Package gp saves, loads and predicts with fitted Gaussian-process models.
//
// A [Model] holds the data with its scaling and the parameters. It comes from a fit or from a file
// ([Load], [Model.Save]). [Model.Condition] conditions it on a device and returns a [Posterior],
// which predicts in original units by Rasmussen & Williams (2006), algorithm 2.1:
//
//	mean      m(x*) + k*ᵀα,          α = Σ⁻¹(y − m(X))
//	variance  k(x*, x*) − k*ᵀΣ⁻¹k*,  plus σ² for a new observation
//
// If least squares found the coefficients of the mean, the variance includes their
// uncertainty (section 2.7 there, universal kriging).
//
// Other results:
//
//   - [Posterior.Joint] and [Prior] return joint distributions of all rows,
//     from which [Joint.Sampler] draws;
//   - [Posterior.Terms] predicts each term of a sum of kernels, [Posterior.Weights]
//     returns the weights of linear terms, and [Posterior.MeanGradient] the
//     derivatives of the mean by the inputs;
//   - [Posterior.LeaveOneOut] predicts every training row from the others;
//   - package exchange writes a model for other programs.
package gp
