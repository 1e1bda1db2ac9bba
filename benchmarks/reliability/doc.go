// Package reliability tests gpfit on campaigns of random problems. `make
// reliability` runs the full campaigns, go test a short form. They check that for
// any data every result is finite or a typed error, that values agree with 200-bit
// arithmetic, and that results repeat bit by bit. Each problem follows from a seed,
// which failures report. docs/reliability-campaigns.md lists the outcomes.
package reliability
