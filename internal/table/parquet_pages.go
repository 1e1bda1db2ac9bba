package table

import (
	"bufio"
	"fmt"
	"io"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"

	"gpfit/internal/hostmem"
)

// Pages are as large as their headers claim: the library takes the memory before it
// looks at what is there.
const (
	// pageSlack is what a page may have beside its values.
	pageSlack = 64 << 10
	// bytesPerNumber is more than a number takes in any encoding, with its levels.
	bytesPerNumber = 16
	// memoryShare is the part of the free memory that a page may take.
	memoryShare = 4
)

// expansion is how many bytes a codec makes of one at most; 0 if there is no such
// number.
var expansion = map[format.CompressionCodec]int64{
	format.Uncompressed: 1, format.Snappy: 32, format.Gzip: 1032, format.Lz4Raw: 256,
}

// checkPages compares what the page headers of a column chunk claim with the file,
// with the rows of the group, and with the memory.
func checkPages(file io.ReaderAt, size int64, chunk *format.ColumnMetaData, rows int64, kind parquet.Kind) error {
	at := chunk.DataPageOffset
	if d := chunk.DictionaryPageOffset; d > 0 && d < at {
		at = d
	}
	end := at + chunk.TotalCompressedSize
	if at < 0 || chunk.TotalCompressedSize < 0 || end > size {
		return fmt.Errorf("a column of bytes %d to %d in a file of %d", at, end, size)
	}
	in := bufio.NewReaderSize(nil, 4096)
	var protocol thrift.CompactProtocol
	for at < end {
		section := io.NewSectionReader(file, at, end-at)
		in.Reset(section)
		var header format.PageHeader
		if err := thrift.NewDecoder(protocol.NewReader(in)).Decode(&header); err != nil {
			return fmt.Errorf("a page header at byte %d: %w", at, err)
		}
		read, err := section.Seek(0, io.SeekCurrent)
		if err != nil {
			return err
		}
		at += read - int64(in.Buffered()) + int64(header.CompressedPageSize)
		if err := checkPage(&header, end-at, chunk.Codec, rows, kind); err != nil {
			return err
		}
	}
	return nil
}

// checkPage checks one header; after is how many bytes of the chunk come after the
// page.
func checkPage(h *format.PageHeader, after int64, codec format.CompressionCodec, rows int64, kind parquet.Kind) error {
	compressed, claimed := int64(h.CompressedPageSize), int64(h.UncompressedPageSize)
	if compressed < 0 || claimed < 0 || after < 0 {
		return fmt.Errorf("a page of %d bytes that is longer than its column", compressed)
	}
	most := int64(1) << 31
	if factor := expansion[codec]; factor > 0 {
		most = factor*compressed + pageSlack
	}
	if free := hostmem.Free(); free > 0 {
		most = min(most, free/memoryShare)
	}
	values := int64(0)
	switch {
	case h.DataPageHeader.Valid:
		values = int64(h.DataPageHeader.V.NumValues)
	case h.DataPageHeaderV2.Valid:
		values = int64(h.DataPageHeaderV2.V.NumValues)
	case h.DictionaryPageHeader.Valid:
		values = int64(h.DictionaryPageHeader.V.NumValues)
	}
	if values < 0 || values > rows {
		return fmt.Errorf("a page of %d values in a group of %d rows", values, rows)
	}
	if kind != parquet.ByteArray && kind != parquet.FixedLenByteArray {
		most = min(most, bytesPerNumber*values+pageSlack)
	}
	if claimed > most {
		return fmt.Errorf("a page of %d bytes claims to unpack to %d", compressed, claimed)
	}
	return nil
}
