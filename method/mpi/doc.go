// Package mpi is the exact method for many processes: ranks that a launcher of MPI has started, on one machine or on many,
// hold one n×n matrix in parts and factor it together. Packages message and engine below it pass the messages and compute.
//
// Rank 0 runs the program. The others run [Serve]: they do what rank 0 asks of all, a [call] after the other, and print
// nothing. A call has the same code on all ranks (share.go, form.go, contract.go, predict.go); workspace.go runs only
// on rank 0. What can go wrong with a call, such as a matrix that is not positive definite, is a value that all ranks
// agree on. Anything else ends the program on all ranks, because the others would wait forever.
package mpi
