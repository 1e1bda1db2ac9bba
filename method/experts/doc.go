// Package experts divides a large table among local
// experts. [NewPartition] finds clusters of the rows by k-means. Each cluster is an exact
// Gaussian process of its own: the covariance of rows of different clusters counts as 0,
// and all share the parameters.
// [Partition.On] turns a backend into one that computes with this block-diagonal covariance,
// so that everything above the contract of [device.Workspace] works with experts as it does
// with one process. Predictions combine the experts by a [Rule].
//
// For n rows and K experts of equal size, an evaluation costs n³/K² operations and takes
// memory for n²/K numbers, in place of n³ and n².
package experts
