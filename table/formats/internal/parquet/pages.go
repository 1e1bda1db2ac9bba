package parquet

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
	"github.com/pierrec/lz4/v4"

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
	if _, err := r.ReadAt(end[:], max(0, size-8)); err != nil && err != io.EOF {
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
	if _, err := walk(text); err != nil {
		return fmt.Errorf("its footer is invalid: %w", err)
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
	at := cmp.Or(c.meta.DictionaryPageOffset, c.meta.DataPageOffset)
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
	case p.compressed > end-p.data || p.levels > p.compressed:
		return fmt.Errorf("a page of %d bytes is longer than its column", p.compressed)
	case p.values > c.rows:
		return fmt.Errorf("a page has %d values in a group of %d rows", p.values, c.rows)
	case p.compressed > maxPageBytes || p.uncompressed > maxPageBytes || p.values > maxPageValues:
		return fmt.Errorf("a page has %d bytes and %d values, but at most %d and %d are allowed; write smaller pages", max(p.compressed, p.uncompressed), p.values, maxPageBytes, maxPageValues)
	case p.uncompressed > c.mostUnpacked(p):
		return fmt.Errorf("a page of %d bytes claims to unpack to %d", p.compressed, p.uncompressed)
	}
	return c.checkBlock(p)
}

// checkBlock checks the block of a page in Snappy, for which the library takes the memory that the
// block claims, or in LZ4, for which it takes ever more if the block is invalid.
func (c *chunk) checkBlock(p pageClaims) error {
	length := p.compressed - p.levels
	switch {
	case p.plain:
		return nil
	case c.meta.Codec == format.Snappy: // a block begins with its unpacked length
		length = min(length, binary.MaxVarintLen64)
	case c.meta.Codec != format.Lz4Raw:
		return nil
	}
	block := make([]byte, length)
	if _, err := c.file.ReadAt(block, p.data+p.levels); err != nil && err != io.EOF {
		return err
	}
	if c.meta.Codec == format.Snappy {
		if unpacked, _ := binary.Uvarint(block); unpacked > uint64(p.uncompressed) {
			return fmt.Errorf("a page of %d bytes claims to unpack to %d", p.compressed, unpacked)
		}
		return nil
	}
	// A block needs a byte, even if it is empty.
	if _, err := lz4.UncompressBlock(block, make([]byte, p.uncompressed+1)); err != nil {
		return errors.New("a page is not an LZ4 block of its size")
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
	plain                            bool  // not compressed, in a page of version 2
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
		length, err := walk(text[:n])
		if isShort(err) && n == len(text) && window < min(most, end-at) {
			continue
		}
		var h format.PageHeader
		if err != nil || thrift.Unmarshal(new(thrift.CompactProtocol), text[:length], &h) != nil {
			return pageClaims{}, errors.New("the header of a page cannot be read")
		}
		v1, v2, dictionary := h.DataPageHeader.V, h.DataPageHeaderV2.V, h.DictionaryPageHeader.V
		if min(h.CompressedPageSize, h.UncompressedPageSize, v1.NumValues, v2.NumValues, dictionary.NumValues, v2.DefinitionLevelsByteLength, v2.RepetitionLevelsByteLength) < 0 {
			return pageClaims{}, errors.New("a page has a negative size")
		}
		return pageClaims{
			data: at + int64(length), compressed: int64(h.CompressedPageSize), uncompressed: int64(h.UncompressedPageSize),
			values: int64(max(v1.NumValues, v2.NumValues, dictionary.NumValues)),
			levels: int64(v2.DefinitionLevelsByteLength) + int64(v2.RepetitionLevelsByteLength), plain: v2.IsCompressed.Valid && !v2.IsCompressed.V,
		}, nil
	}
}

// walk returns the length of a structure in Thrift's compact protocol, the format of Parquet's footer
// and page headers, at the beginning of text. The Parquet library allocates as much as the length of
// a list claims, and recurs as deep as structures are nested: walk allows as many elements as there are
// bytes, and thriftDepth levels.
func walk(text []byte) (length int, err error) {
	w := walker{new(thrift.CompactProtocol).NewReaderFromBytes(text), len(text)}
	err = w.structure(0)
	return w.BytesRead(), err
}

// thriftDepth is the largest depth of nested values.
const thriftDepth = 32

// isShort reports whether a walk ended because the text ends within the structure.
func isShort(err error) bool { return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) }

// walker reads values of a text of size bytes and forgets them.
type walker struct {
	thrift.BytesReader
	size int
}

func (w walker) structure(depth int) error {
	for {
		field, err := w.ReadField()
		switch {
		case err != nil || field.Type == thrift.STOP:
			return err
		case field.Type == thrift.TRUE || field.Type == thrift.FALSE: // as a field it is its type
		default:
			if err := w.value(field.Type, depth+1); err != nil {
				return err
			}
		}
	}
}

// value reads a value within depth others.
func (w walker) value(kind thrift.Type, depth int) (err error) {
	if depth > thriftDepth {
		return errors.New("structures within structures")
	}
	switch kind {
	case thrift.TRUE, thrift.FALSE, thrift.I8:
		_, err = w.ReadInt8()
	case thrift.I16, thrift.I32, thrift.I64:
		_, err = w.ReadInt64()
	case thrift.DOUBLE:
		_, err = w.ReadFloat64()
	case thrift.BINARY:
		_, err = w.ReadBytes()
	case thrift.LIST, thrift.SET:
		var list thrift.List
		if list, err = w.ReadList(); err == nil {
			err = w.values(list.Size, depth, list.Type)
		}
	case thrift.MAP:
		var pairs thrift.Map
		if pairs, err = w.ReadMap(); err == nil {
			err = w.values(pairs.Size, depth, pairs.Key, pairs.Value)
		}
	case thrift.STRUCT:
		err = w.structure(depth)
	default:
		err = fmt.Errorf("values of the kind %d", kind)
	}
	return err
}

// values reads the values of a list, or keys and values of a map, size of each kind. There
// must be a byte for each.
func (w walker) values(size int32, depth int, kinds ...thrift.Type) error {
	if int(size) > (w.size-w.BytesRead())/len(kinds) {
		return io.ErrUnexpectedEOF
	}
	for range size {
		for _, kind := range kinds {
			if err := w.value(kind, depth+1); err != nil {
				return err
			}
		}
	}
	return nil
}
