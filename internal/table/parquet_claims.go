package table

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/parquet-go/parquet-go/format"
)

// Limits of a page of a Parquet file. Writers make pages of a megabyte; the library
// takes as much memory as a page claims.
const (
	maxPageBytes  = 128 << 20
	maxPageValues = 1 << 24
)

// checkSchema sees to it that the footer's lengths are no longer than the footer.
func checkSchema(r io.ReaderAt, size int64) error {
	var length [4]byte
	if _, err := r.ReadAt(length[:], size-8); err != nil {
		return err
	}
	text := make([]byte, binary.LittleEndian.Uint32(length[:]))
	if _, err := r.ReadAt(text, size-8-int64(len(text))); err != nil {
		return err
	}
	t := thriftWalk{text: text}
	if t.structure(nil, nil); t.failed() {
		return errors.New("its footer cannot be read")
	}
	return nil
}

// checkClaims looks at the headers of a column's pages before the library does.
func checkClaims(r io.ReaderAt, m *format.ColumnMetaData) error {
	at := m.DataPageOffset
	if m.DictionaryPageOffset != 0 {
		at = m.DictionaryPageOffset
	}
	end := at + m.TotalCompressedSize
	if at < 0 || end < at {
		return errors.New("a column of a negative size")
	}
	for at < end {
		p, err := readPage(r, at, end)
		if err == io.EOF {
			break
		}
		if err == nil {
			err = p.check(r, m.Codec)
		}
		if err != nil {
			return err
		}
		at = p.data + p.compressed
	}
	return nil
}

// pageClaims are what the header of a page says.
type pageClaims struct {
	data                             int64 // where its bytes begin
	compressed, uncompressed, values int64
	levels                           int64 // bytes of a page of version 2 that are not compressed
}

// readPage reads the header at an offset; io.EOF says that there is nothing.
func readPage(r io.ReaderAt, at, end int64) (pageClaims, error) {
	const most = 16 << 20
	for window := int64(4 << 10); ; window *= 16 {
		text := make([]byte, min(window, end-at))
		n, err := r.ReadAt(text, at)
		if n == 0 {
			return pageClaims{}, io.EOF
		}
		if err != nil && err != io.EOF {
			return pageClaims{}, err
		}
		var p pageClaims
		t := thriftWalk{text: text[:n]}
		t.structure(nil, p.take)
		switch {
		case !t.failed():
			p.data = at + int64(t.at)
			return p, nil
		case t.bad || n < len(text) || window >= min(most, end-at):
			return pageClaims{}, errors.New("the header of a page cannot be read")
		}
	}
}

// take takes a number of the header, by the fields that lead to it (parquet.thrift).
func (p *pageClaims) take(path []int64, v int64) {
	switch {
	case len(path) == 1 && path[0] == 2:
		p.uncompressed = v
	case len(path) == 1 && path[0] == 3:
		p.compressed = v
	case len(path) == 2 && path[1] == 1 && (path[0] == 5 || path[0] == 7 || path[0] == 8):
		p.values = max(p.values, v)
	case len(path) == 2 && path[0] == 8 && (path[1] == 5 || path[1] == 6):
		p.levels += v
	}
}

func (p *pageClaims) check(r io.ReaderAt, codec format.CompressionCodec) error {
	switch {
	case p.compressed < 0 || p.uncompressed < 0 || p.values < 0 || p.levels < 0 || p.levels > p.compressed:
		return errors.New("a page of a negative size")
	case p.compressed > maxPageBytes || p.uncompressed > maxPageBytes || p.values > maxPageValues:
		return fmt.Errorf("a page of %d bytes and %d values, where at most %d and %d are read; write it in smaller pages", max(p.compressed, p.uncompressed), p.values, maxPageBytes, maxPageValues)
	}
	if _, err := r.ReadAt(make([]byte, min(1, p.compressed)), p.data+max(p.compressed, 1)-1); err != nil && p.compressed > 0 {
		return errors.New("a page that ends beyond the file")
	}
	if codec != format.Lz4Raw {
		return nil
	}
	text := make([]byte, p.compressed)
	if _, err := r.ReadAt(text, p.data); err != nil && err != io.EOF {
		return err
	}
	// The library takes ever more memory for an LZ4 block that is none.
	if n := lz4Length(text[p.levels:]); n < 0 || n > maxPageBytes {
		return errors.New("a page is no LZ4 block")
	}
	return nil
}

// lz4Length is the length of what a raw LZ4 block unpacks to, −1 if it is none
// (lz4_Block_format.md): sequences of literals and a copy of what came before, the
// last one of literals alone.
func lz4Length(b []byte) int {
	length := func(n int) int {
		for more := n == 15; more; {
			if len(b) == 0 {
				return -1
			}
			n, more = n+int(b[0]), b[0] == 255
			b = b[1:]
		}
		return n
	}
	out := 0
	for len(b) > 0 {
		token := b[0]
		b = b[1:]
		literals := length(int(token >> 4))
		if literals < 0 || literals > len(b) {
			return -1
		}
		out, b = out+literals, b[literals:]
		if len(b) == 0 {
			return out
		}
		if len(b) < 2 {
			return -1
		}
		offset := int(binary.LittleEndian.Uint16(b))
		b = b[2:]
		match := length(int(token & 15))
		if match < 0 || offset == 0 || offset > out || len(b) == 0 {
			return -1
		}
		out += match + 4
	}
	return out
}
