package parquet

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"

	"gpfit/internal/hostmem"
)

// magic starts and ends a file.
const magic = "PAR1"

// Limits of a page. Writers make pages of a megabyte. The library allocates as much
// memory as a page claims before it checks the data.
const (
	maxPageBytes  = 128 << 20
	maxPageValues = 1 << 24
	// pageSlack is the size that a page may have in addition to its values.
	pageSlack = 64 << 10
	// bytesPerNumber exceeds the size of a number with its levels in any encoding.
	bytesPerNumber = 16
	// memoryShare is the divisor of the free memory that limits a page.
	memoryShare = 4
)

// expansion is the largest number of bytes into which a codec unpacks one byte; 0 if unlimited.
var expansion = map[format.CompressionCodec]int64{
	format.Uncompressed: 1, format.Snappy: 32, format.Gzip: 1032, format.Lz4Raw: 256,
}

// checkFooter checks that the footer is no longer than the file, and that no length in it exceeds
// the footer, before the library allocates memory for them.
func checkFooter(r io.ReaderAt, size int64) error {
	var end [8]byte
	if size < 12 {
		return errors.New("it is cut short")
	}
	if _, err := r.ReadAt(end[:], size-8); err != nil {
		return err
	}
	if string(end[4:]) != magic {
		return errors.New("it is cut short: it does not end as Parquet files do")
	}
	length := int64(binary.LittleEndian.Uint32(end[:4]))
	if length > size-12 {
		return errors.New("its footer is longer than the file")
	}
	text := make([]byte, length)
	if _, err := r.ReadAt(text, size-8-length); err != nil {
		return err
	}
	t := thriftWalk{text: text}
	if t.structure(0); t.failed() {
		return errors.New("its footer is invalid")
	}
	return nil
}

// chunk is a column within a row group of a file.
type chunk struct {
	file io.ReaderAt
	size int64 // of the file
	meta *format.ColumnMetaData
	rows int64 // of the group
}

// check compares the claims in the page headers with the file, the rows and the
// memory before the library reads the pages.
func (c *chunk) check() error {
	at := c.meta.DataPageOffset
	if d := c.meta.DictionaryPageOffset; d != 0 {
		if d < 0 || d > at {
			return fmt.Errorf("a column has its dictionary at byte %d and its data at byte %d", d, at)
		}
		at = d
	}
	end := at + c.meta.TotalCompressedSize
	if at < 0 || end < at || end > c.size {
		return fmt.Errorf("a column spans bytes %d to %d in a file of %d", at, end, c.size)
	}
	for at < end {
		p, err := readPage(c.file, at, end)
		if err != nil {
			return err
		}
		if err := c.checkPage(p, end); err != nil {
			return err
		}
		at = p.data + p.compressed
	}
	return nil
}

// checkPage checks one page of a chunk that ends at the byte end.
func (c *chunk) checkPage(p pageClaims, end int64) error {
	switch {
	case p.compressed < 0 || p.uncompressed < 0 || p.values < 0 || p.levels < 0 || p.levels > p.compressed:
		return errors.New("a page has a negative size")
	case p.compressed > end-p.data:
		return fmt.Errorf("a page of %d bytes is longer than its column", p.compressed)
	case p.values > c.rows:
		return fmt.Errorf("a page has %d values in a group of %d rows", p.values, c.rows)
	case p.compressed > maxPageBytes || p.uncompressed > maxPageBytes || p.values > maxPageValues:
		return fmt.Errorf("a page has %d bytes and %d values, but at most %d and %d are allowed; write smaller pages", max(p.compressed, p.uncompressed), p.values, maxPageBytes, maxPageValues)
	case p.uncompressed > c.mostUnpacked(p):
		return fmt.Errorf("a page of %d bytes claims to unpack to %d", p.compressed, p.uncompressed)
	}
	if c.meta.Codec != format.Lz4Raw {
		return nil
	}
	text := make([]byte, p.compressed)
	if _, err := c.file.ReadAt(text, p.data); err != nil && err != io.EOF {
		return err
	}
	// The library takes ever more memory for an invalid LZ4 block.
	if n := lz4Length(text[p.levels:]); n < 0 || n > maxPageBytes {
		return errors.New("a page is not an LZ4 block")
	}
	return nil
}

// mostUnpacked returns how many bytes a page can hold, given its codec, the free
// memory and the number of its values.
func (c *chunk) mostUnpacked(p pageClaims) int64 {
	most := int64(maxPageBytes)
	if factor := expansion[c.meta.Codec]; factor > 0 {
		most = min(most, factor*p.compressed+pageSlack)
	}
	if free := hostmem.Free(); free > 0 {
		most = min(most, free/memoryShare)
	}
	if kind := parquet.Kind(c.meta.Type); kind != parquet.ByteArray && kind != parquet.FixedLenByteArray {
		most = min(most, bytesPerNumber*p.values+pageSlack)
	}
	return most
}

// pageClaims holds the claims in the header of a page.
type pageClaims struct {
	data                             int64 // where its bytes begin
	compressed, uncompressed, values int64
	levels                           int64 // uncompressed bytes of a page of version 2
}

// readPage reads the page header at an offset.
func readPage(r io.ReaderAt, at, end int64) (pageClaims, error) {
	const most = 16 << 20
	for window := int64(4 << 10); ; window *= 16 {
		text := make([]byte, min(window, end-at))
		n, err := r.ReadAt(text, at)
		if n == 0 || err != nil && err != io.EOF {
			return pageClaims{}, err
		}
		t := thriftWalk{text: text[:n]}
		t.structure(0)
		if t.short && n == len(text) && window < min(most, end-at) {
			continue
		}
		var h format.PageHeader
		if t.failed() || thrift.Unmarshal(new(thrift.CompactProtocol), text[:t.at], &h) != nil {
			return pageClaims{}, errors.New("the header of a page cannot be read")
		}
		v2 := h.DataPageHeaderV2.V
		return pageClaims{
			data: at + int64(t.at), compressed: int64(h.CompressedPageSize), uncompressed: int64(h.UncompressedPageSize),
			values: mostUnlessNegative(h.DataPageHeader.V.NumValues, h.DictionaryPageHeader.V.NumValues, v2.NumValues),
			levels: int64(v2.DefinitionLevelsByteLength) + int64(v2.RepetitionLevelsByteLength),
		}, nil
	}
}

// mostUnlessNegative returns the largest number, or a negative one.
func mostUnlessNegative(counts ...int32) int64 {
	if least := slices.Min(counts); least < 0 {
		return int64(least)
	}
	return int64(slices.Max(counts))
}

// lz4Length returns the unpacked length of a raw LZ4 block, or −1 if the block is
// invalid (lz4_Block_format.md). A block consists of sequences of literals and a copy
// of earlier bytes; the last sequence has only literals.
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

// thriftWalk walks a structure in Thrift's compact protocol, the format of Parquet's footer and
// page headers, without allocating memory for it. The Parquet library allocates as much as a length
// claims before it checks that there are that many bytes.
type thriftWalk struct {
	text []byte
	at   int
	// short says that the text ends within the structure; bad says that it is invalid.
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
