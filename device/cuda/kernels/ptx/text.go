package ptx

import (
	"slices"

	"gpfit/kernel"
	"gpfit/kernel/code"
)

// Text writes the module of an entry for a target.
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

// Pairs is the number of pairs in a pass: the most of which the registers hold what
// is live at a time, and what an operation on all of them needs.
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
	if e == &Multiply { // its sums are of two rows
		return 2
	}
	return 1
}

// registers is the number of float64 that a thread can hold beside addresses, of the
// 128 registers that two blocks on a multiprocessor leave it.
const registers = 44

// scratch is the number of float64 that operations need for each pair on the way.
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
