// Package reliability holds campaigns on random problems, which make reliability runs
// in full and go test in a short form: whatever the data, a result is finite or a typed
// error; values agree with arithmetic of 200 bits; results repeat, bit by bit. Each
// problem follows from a seed, which a failure names. docs/reliability-campaigns.md says
// what came out.
package reliability
