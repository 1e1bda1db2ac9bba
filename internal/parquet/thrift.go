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

// structure walks a structure within depth others.
func (r *thriftWalk) structure(depth int) {
	if depth > thriftDepth {
		r.bad = true
	}
	for !r.failed() {
		head := r.next()
		if r.failed() || head&15 == thriftStop {
			return
		}
		if head>>4 == 0 {
			r.uvarint() // the number of the field
		}
		r.value(head&15, depth+1, false)
	}
}

// value walks a value. A boolean takes a byte in a list and none as a field.
func (r *thriftWalk) value(kind byte, depth int, inList bool) {
	switch {
	case kind == thriftTrue || kind == thriftFalse:
		if inList {
			r.skip(1)
		}
	case kind == thriftByte:
		r.skip(1)
	case kind >= thriftInt16 && kind <= thriftInt64:
		r.uvarint()
	case kind == thriftDouble:
		r.skip(8)
	case kind == thriftUUID:
		r.skip(16)
	case kind == thriftBinary:
		r.skip(r.uvarint())
	case kind == thriftList || kind == thriftSet:
		head := r.next()
		size := uint64(head >> 4)
		if size == 15 {
			size = r.uvarint()
		}
		r.values(size, depth, head&15)
	case kind == thriftMap:
		if size := r.uvarint(); size > 0 {
			kinds := r.next()
			r.values(size, depth, kinds>>4, kinds&15)
		}
	case kind == thriftStruct:
		r.structure(depth)
	default:
		r.bad = true
	}
}

// values walks the values of a list, or keys and values of a map, size of each kind. There
// must be a byte for each.
func (r *thriftWalk) values(size uint64, depth int, kinds ...byte) {
	if size > uint64(len(r.text)-r.at)/uint64(len(kinds)) {
		r.short = true
	}
	for i := uint64(0); i < size && !r.failed(); i++ {
		for _, kind := range kinds {
			r.value(kind, depth+1, true)
		}
	}
}
