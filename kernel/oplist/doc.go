// Package oplist simplifies and evaluates lists of operations on a pair of points. A covariance
// function and its derivatives are compiled to such a list.
//
// A [List] is in single static assignment form: each value is an operation on
// earlier values. Uniform values depend only on parameters and numbers and are
// computed once for all pairs ([List.Uniforms]). The other values depend on
// features of the pair, and a backend evaluates them for every pair.
//
// The methods that build a list simplify it: they merge equal values, fold numbers, move uniform
// factors out of products and merge products of exponentials. A value that differs from another
// only by a uniform factor becomes a [Sum] of it, so both share the work per pair.
package oplist
