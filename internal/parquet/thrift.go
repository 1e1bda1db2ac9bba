package parquet

import "encoding/binary"

// thriftWalk walks a structure in Thrift's compact protocol, the format of Parquet's
// footer and page headers, without allocating memory for it. The Parquet library
// allocates as much as a length claims before it checks that there are that many
// bytes.
type thriftWalk struct {
	text []byte
	at   int
	// short says that the text ends within the structure; bad says that it is
	// invalid.
	short, bad bool
}

// The types of the compact protocol.
const (
	thriftStop, thriftTrue, thriftFalse, thriftByte = 0, 1, 2, 3
	thriftInt16, thriftInt64, thriftDouble          = 4, 6, 7
	thriftBinary, thriftList, thriftSet, thriftMap  = 8, 9, 10, 11
	thriftStruct, thriftUUID                        = 12, 13
	thriftDepth                                     = 32
)

func (r *thriftWalk) failed() bool { return r.short || r.bad }

// skip skips n bytes.
func (r *thriftWalk) skip(n uint64) {
	if n > uint64(len(r.text)-r.at) {
		r.short = true
		return
	}
	r.at += int(n)
}

func (r *thriftWalk) next() byte {
	if r.skip(1); r.failed() {
		return 0
	}
	return r.text[r.at-1]
}

func (r *thriftWalk) uvarint() uint64 {
	v, n := binary.Uvarint(r.text[r.at:])
	switch {
	case n == 0:
		r.short = true
	case n < 0:
		r.bad = true
	default:
		r.at += n
	}
	return v
}

func (r *thriftWalk) varint() int64 {
	u := r.uvarint()
	return int64(u>>1) ^ -int64(u&1)
}

// structure walks a structure. It calls number, unless nil, with each integer field
// and the path of field numbers that leads to it, including its own.
func (r *thriftWalk) structure(path []int64, number func(path []int64, v int64)) {
	if len(path) > thriftDepth {
		r.bad = true
	}
	id := int64(0)
	for !r.failed() {
		head := r.next()
		kind := head & 15
		if r.failed() || kind == thriftStop {
			return
		}
		if delta := int64(head >> 4); delta > 0 {
			id += delta
		} else {
			id = r.varint()
		}
		r.value(kind, append(path[:len(path):len(path)], id), false, number)
	}
}

// value walks a value. A boolean takes a byte in a list and none as a field.
func (r *thriftWalk) value(kind byte, path []int64, inList bool, number func(path []int64, v int64)) {
	switch {
	case kind == thriftTrue || kind == thriftFalse:
		if inList {
			r.skip(1)
		}
	case kind == thriftByte:
		r.skip(1)
	case kind >= thriftInt16 && kind <= thriftInt64:
		if v := r.varint(); !r.failed() && number != nil {
			number(path, v)
		}
	case kind == thriftDouble:
		r.skip(8)
	case kind == thriftUUID:
		r.skip(16)
	case kind == thriftBinary:
		r.skip(r.uvarint())
	case kind == thriftList || kind == thriftSet:
		r.list(path)
	case kind == thriftMap:
		r.pairs(path)
	case kind == thriftStruct:
		r.structure(path, number)
	default:
		r.bad = true
	}
}

func (r *thriftWalk) list(path []int64) {
	head := r.next()
	size := uint64(head >> 4)
	if size == 15 {
		size = r.uvarint()
	}
	if r.claims(size) {
		return
	}
	for range size {
		if r.value(head&15, append(path[:len(path):len(path)], 0), true, nil); r.failed() {
			return
		}
	}
}

func (r *thriftWalk) pairs(path []int64) {
	size := r.uvarint()
	if size == 0 || r.claims(2*size) {
		return
	}
	kinds := r.next()
	for range size {
		r.value(kinds>>4, path, true, nil)
		if r.value(kinds&15, append(path[:len(path):len(path)], 0), true, nil); r.failed() {
			return
		}
	}
}

// claims reports whether too few bytes are left for size values of at least one byte
// each.
func (r *thriftWalk) claims(size uint64) bool {
	if size > uint64(len(r.text)-r.at) {
		r.short = true
	}
	return r.failed()
}
