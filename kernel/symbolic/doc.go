// Package symbolic builds covariance functions as Gorgonia expressions and differentiates them.
//
// A [Graph] has an input node for every feature of the pair (a squared distance, an inner product,
// …) and for every parameter, and scalar nodes computed from them. These nodes use Gorgonia's ops,
// and ops of this package where Gorgonia's would be slow or singular at distance 0. The ops are
// closed under differentiation. [Graph.Compile] lets Gorgonia differentiate an expression by all
// its inputs and translates value and derivatives to lists of operations (package oplist), which the
// CPU and the GPU run. The tests also run the graph on Gorgonia's own machines.
package symbolic
