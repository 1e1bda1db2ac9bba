// Package gp holds fitted Gaussian-process models: the data with its scaling,
// the parameters, and what predictions need.
//
// A [Model] comes from a fit or from a file ([Load], [Model.Save]).
// [Model.Condition] puts it on a device and returns a [Posterior], which
// predicts in original units. The formulas are Rasmussen & Williams (2006),
// algorithm 2.1:
//
//	mean      m(x*) + k*ᵀα,          α = Σ⁻¹(y − m(X))
//	variance  k(x*, x*) − k*ᵀΣ⁻¹k*,  plus σ² for a new observation
//
// Where the coefficients of the mean were found by least squares, the variance
// has their uncertainty in it (section 2.7 there, universal kriging).
//
// Beyond mean and variance of rows:
//
//   - [Posterior.Joint] and [Model.Prior] are distributions of all rows together,
//     from which [Joint.Sampler] draws;
//   - [Posterior.Terms] predicts each term of a sum of kernels apart,
//     [Posterior.Weights] has the weights of linear ones, and
//     [Posterior.MeanGradient] the derivatives of the mean by the inputs;
//   - [Posterior.LeaveOneOut] predicts every training row from the others;
//   - [Model.ExportJSON] and [Model.ExportNPZ] write a model for other programs.
package gp
