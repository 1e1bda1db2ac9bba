// Package pair holds covariance functions of a pair of points as Gorgonia
// expressions.
//
// A [Graph] has an input node for every feature of the pair (a squared distance,
// an inner product, …), one for every parameter, and scalar nodes on them: Gorgonia's
// own, and a few ops of ours where Gorgonia's would be singular at distance 0 or
// slow. These are closed under differentiation. [Graph.Compile] has Gorgonia
// differentiate an expression by all its inputs and turns value and derivatives into
// lists of operations (package code), which the CPU and the GPU run. Gorgonia's own
// machines run the same graph, which the tests do.
package pair
