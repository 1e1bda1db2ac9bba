package parquet

import (
	"bytes"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress"
	"github.com/parquet-go/parquet-go/compress/lz4"
	"github.com/parquet-go/parquet-go/compress/snappy"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"

	"gpfit/internal/testcheck"
)

// page returns the header of a data page followed by the given number of bytes.
func page(t *testing.T, compressed, uncompressed, values int32, bytes int) []byte {
	h := &format.PageHeader{CompressedPageSize: compressed, UncompressedPageSize: uncompressed}
	h.DataPageHeader.Valid, h.DataPageHeader.V.NumValues = true, values
	text := testcheck.Get(thrift.Marshal(new(thrift.CompactProtocol), h))(t)
	return append(text, make([]byte, bytes)...)
}

// checkBytes checks a file that is one column of pages. The dictionary is at the
// given offset, or missing if that is 0, and the data begin at the other offset.
func checkBytes(file []byte, codec format.CompressionCodec, kind parquet.Kind, dictionary, data, size int64) error {
	meta := &format.ColumnMetaData{Type: format.Type(kind), Codec: codec, DictionaryPageOffset: dictionary, DataPageOffset: data, TotalCompressedSize: size}
	c := chunk{bytes.NewReader(file), int64(len(file)), meta, 1000}
	return c.check()
}

// TestPageClaims checks that a page gets no memory that it cannot fill.
func TestPageClaims(t *testing.T) {
	for i, c := range []struct {
		compressed, uncompressed, values int32
		codec                            format.CompressionCodec
		kind                             parquet.Kind
		want                             string
	}{
		{8000, 8000, 1000, format.Uncompressed, parquet.Double, ""},
		{100, 8100, 1000, format.Zstd, parquet.Double, ""},
		{100, 8100, 1000, format.Brotli, parquet.ByteArray, ""},
		{100, math.MaxInt32, 1000, format.Zstd, parquet.Double, "at most 134217728"},
		{100, math.MaxInt32, 1000, format.Snappy, parquet.ByteArray, "at most 134217728"},
		{100, 1 << 20, 1000, format.Snappy, parquet.ByteArray, "claims to unpack to 1048576"},
		{100, 1 << 20, 1000, format.Zstd, parquet.Double, "claims to unpack to 1048576"},
		{100, 1 << 20, 1000, format.Gzip, parquet.ByteArray, "claims to unpack to 1048576"},
		{100, 8000, math.MaxInt32, format.Gzip, parquet.Double, "2147483647 values in a group of 1000 rows"},
		{100, 8000, -1, format.Gzip, parquet.Double, "negative size"},
		{math.MaxInt32, 8000, 1000, format.Uncompressed, parquet.Double, "longer than its column"},
		{8001, 8000, 1000, format.Uncompressed, parquet.Double, "longer than its column"},
		{100, -1, 1000, format.Gzip, parquet.Double, "negative size"},
		{-1, 100, 1000, format.Gzip, parquet.Double, "negative size"},
		{100, 8000, 1000, format.Lz4Raw, parquet.Double, "not an LZ4 block"},
	} {
		file := page(t, c.compressed, c.uncompressed, c.values, int(min(max(c.compressed, 0), 8000)))
		err := checkBytes(file, c.codec, c.kind, 0, 0, int64(len(file)))
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("case %d: error %v, want %q", i, err, c.want)
		}
	}
}

// TestChunkClaims checks that a column lies within the file, and that its pages fill it.
func TestChunkClaims(t *testing.T) {
	one := page(t, 80, 80, 10, 80)
	file := slices.Concat(one, one)
	n := int64(len(file))
	for i, c := range []struct {
		dictionary, data, size int64
		want                   string
	}{
		{0, 0, n, ""},
		{0, n / 2, n / 2, ""},
		{n / 2, n / 2, n / 2, ""},
		{-1, 0, n, "bytes -1 to"},
		{n / 2, 0, n, "in a file of"},
		{0, -1, n, "bytes -1 to"},
		{0, 0, n + 1, "in a file of"},
		{0, 0, -1, "bytes 0 to -1"},
		{0, 0, math.MaxInt64, "in a file of"},
		{0, math.MaxInt64 - 5, 100, "bytes 9223372036854775802 to"},
		{0, 0, n - 1, "longer than its column"},
		{0, n - 3, 3, "the header of a page cannot be read"},
	} {
		err := checkBytes(file, format.Uncompressed, parquet.Double, c.dictionary, c.data, c.size)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("case %d: error %v, want %q", i, err, c.want)
		}
	}
}

// TestBlockClaims checks that a page in Snappy or LZ4 is a block of no more than its size: for others the
// library would allocate what they claim, or ever more.
func TestBlockClaims(t *testing.T) {
	check := func(codec format.CompressionCodec, block []byte, uncompressed int) error {
		file := append(page(t, int32(len(block)), int32(uncompressed), 1000, 0), block...)
		return checkBytes(file, codec, parquet.ByteArray, 0, 0, int64(len(file)))
	}
	for _, text := range [][]byte{nil, {1}, []byte("abcabcabcabcabcabcabcabc"), make([]byte, 9_000), bytes.Repeat([]byte("0123456789abcdefghijklmnop"), 999)} {
		for _, codec := range []compress.Codec{new(lz4.Codec), new(snappy.Codec)} {
			block, of := testcheck.Get(codec.Encode(nil, text))(t), codec.CompressionCodec()
			testcheck.Do(t, check(of, block, len(text)))
			if len(text) > 2 && check(of, block, len(text)-2) == nil {
				t.Errorf("%s: a block of %d bytes was accepted as one of 2 less", of, len(text))
			}
			if len(text) > 2 && of == format.Lz4Raw && check(of, block[:len(block)-1], len(text)) == nil {
				t.Errorf("a block of %d bytes was accepted without its last one", len(block))
			}
		}
	}
	for _, block := range [][]byte{{0xf0}, {0x20, 1}, {0x10, 1, 0, 0}, {0x10, 1, 2, 0, 0}, {0x1f, 1, 1, 0, 255, 255}} {
		if check(format.Lz4Raw, block, 9000) == nil {
			t.Errorf("%v is a block", block)
		}
	}
	plain := &format.PageHeader{CompressedPageSize: 1, UncompressedPageSize: 1}
	plain.DataPageHeaderV2.Valid, plain.DataPageHeaderV2.V.IsCompressed.Valid = true, true
	file := append(testcheck.Get(thrift.Marshal(new(thrift.CompactProtocol), plain))(t), 0xf0)
	testcheck.Do(t, checkBytes(file, format.Lz4Raw, parquet.ByteArray, 0, 0, int64(len(file))))
}

// TestThriftClaims checks that no length in a structure exceeds the structure.
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
		{bytes.Repeat([]byte{0x19}, 100), false, true},
		{bytes.Repeat([]byte{0x1c}, 100), false, true},
	} {
		n, err := walk(c.text)
		if isShort(err) != c.short || (err != nil) != (c.short || c.bad) || err == nil && n != len(c.text) {
			t.Errorf("%x: %d bytes, %v", c.text, n, err)
		}
	}
}
