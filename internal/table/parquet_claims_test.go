package table

import (
	"bytes"
	"testing"

	"github.com/parquet-go/parquet-go/compress/lz4"
)

// TestLZ4Length: the length of what a block unpacks to, and −1 for what the library
// would take ever more memory for.
func TestLZ4Length(t *testing.T) {
	for _, text := range [][]byte{nil, {1}, []byte("abcabcabcabcabcabcabcabc"), make([]byte, 100_000), bytes.Repeat([]byte("0123456789abcdefghijklmnop"), 999)} {
		block, err := new(lz4.Codec).Encode(nil, text)
		if err != nil {
			t.Fatal(err)
		}
		if n := lz4Length(block); n != len(text) {
			t.Errorf("a block of %d bytes has the length %d, want %d", len(block), n, len(text))
		}
		for cut := 1; cut < min(len(block), 50); cut++ {
			if n := lz4Length(block[:len(block)-cut]); n == len(text) {
				t.Errorf("a block without its last %d bytes has the length %d", cut, n)
			}
		}
	}
	for _, block := range [][]byte{{0xf0}, {0x20, 1}, {0x10, 1, 0, 0}, {0x10, 1, 2, 0, 0}, {0x1f, 1, 1, 0, 255, 255}} {
		if n := lz4Length(block); n != -1 {
			t.Errorf("%v has the length %d", block, n)
		}
	}
}

// TestThriftClaims: no length in a structure is longer than the structure.
func TestThriftClaims(t *testing.T) {
	for _, c := range []struct {
		text       []byte
		short, bad bool
	}{
		{[]byte{0}, false, false},
		{[]byte{0x15, 2, 0}, false, false},
		{[]byte{0x18, 3, 'a', 'b', 'c', 0}, false, false},
		{[]byte{0x18, 0xff, 0xff, 0xff, 0xff, 7, 'a'}, true, false},
		{[]byte{0x19, 0xfc, 0xff, 0xff, 0xff, 0xff, 7, 0}, true, false},
		{[]byte{0x1b, 0xff, 0xff, 0xff, 0xff, 7, 0x88}, true, false},
		{[]byte{0x1e}, false, true},
		{bytes.Repeat([]byte{0x1c}, 100), false, true},
	} {
		r := thriftWalk{text: c.text}
		if r.structure(nil, nil); r.short != c.short || r.bad != c.bad {
			t.Errorf("%x: short %v, bad %v", c.text, r.short, r.bad)
		}
	}
}
