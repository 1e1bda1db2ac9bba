package ptx

import (
	"slices"

	"gpfit/internal/code"
	"gpfit/kernel"
)

// Text returns the module of an entry for a target.
func (k *Kernel) Text(e *Entry, target string) []byte {
	b := k.body(e, k.Pairs(e))
	shared := map[string]int{}
	if k.resident() {
		shared["stage"] = len(k.columns) * stageBytes
	}
	if e == &Contract || e == &Multiply {
		shared["red"] = redBytes
	}
	return []byte(header(target) + b.entry(e, shared))
}

func (k *Kernel) body(e *Entry, pairs int) *body {
	b := newBody(k, pairs)
	map[*Entry]func(){&Fill: b.fill, &Cross: b.cross, &Multiply: b.multiply, &Contract: b.contract}[e]()
	return b
}

// Pairs returns the number of pairs in a pass: the largest for which the registers hold
// the live values and the temporary values of an operation on all pairs.
func (k *Kernel) Pairs(e *Entry) int {
	live, scratch, sums := k.body(e, 8).live.most(), k.scratch(), 0
	if e == &Multiply {
		sums = 2 * vectors
	}
	for _, pairs := range []int{8, 4, 2} {
		if (live+scratch)*pairs+sums <= registers {
			return pairs
		}
	}
	if e == &Multiply { // its sums belong to two rows
		return 2
	}
	return 1
}

// registers is the number of float64 values that a thread can hold beside addresses, in
// the 128 registers that it has if two blocks share a multiprocessor.
const registers = 44

// scratch returns the number of temporary float64 values that operations need for each
// pair.
func (k *Kernel) scratch() int {
	most := 2
	if slices.ContainsFunc(k.features, func(f kernel.Feature) bool { return waves(&f) }) {
		most = 3
	}
	for id, needed := range k.need {
		v := k.list.Values[id]
		if long := []code.Op{code.Log, code.Log1p, code.LogOrZero, code.Power, code.Arcsine}; needed && !v.Uniform && slices.Contains(long, v.Op) {
			most = 4
		}
	}
	return most
}
