// Package code holds lists of operations on the numbers of a pair of points:
// what a covariance function and its derivatives come to once they are compiled.
//
// A [List] is in single static assignment: a value is an operation on earlier
// values. Values are of two sorts. Uniform ones depend on parameters and numbers
// alone and are computed once for all pairs ([List.Uniforms]); the others, which
// depend on features of the pair, are what a backend evaluates for every pair.
//
// A list is built by methods that simplify as they go: equal values are one
// value, numbers are folded, uniform factors move out of products, and
// exponentials that are multiplied become one. A value that differs from another
// by a uniform factor alone is a [Sum] of that one, so that what is computed for
// every pair is shared.
package code
