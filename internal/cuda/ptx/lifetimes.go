package ptx

import "slices"

// lifetimes records how many numbers of a pair are held at a time.
type lifetimes struct {
	clock       int
	first, last map[any]int
}

func (l *lifetimes) born(what any) {
	if l.first == nil {
		l.first, l.last = map[any]int{}, map[any]int{}
	}
	l.clock++
	l.first[what], l.last[what] = l.clock, l.clock
}

func (l *lifetimes) used(what any) {
	l.clock++
	if l.last != nil {
		l.last[what] = l.clock
	}
}

// most returns the largest number of values held at a time.
func (l *lifetimes) most() int {
	var events []int // births are even, ends the odd numbers after them
	for what, t := range l.first {
		events = append(events, 2*t, 2*l.last[what]+1)
	}
	slices.Sort(events)
	now, most := 0, 0
	for _, e := range events {
		if e%2 == 1 {
			now--
			continue
		}
		now++
		most = max(most, now)
	}
	return most
}
