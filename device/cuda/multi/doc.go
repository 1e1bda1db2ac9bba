// Package multi calls NCCL, cuBLASMp and cuSOLVERMp: they compute with one matrix on the cards of
// several processes and machines. It finds and loads them at run time, beside the libraries of
// package mathlib. A [Grid] is the cards together; its routines are collective: every process calls
// them in the same order.
package multi
