package arrow

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"io"
	"os"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"gpfit/table"
)

// batches are the batches of a file or stream, read in order.
type batches interface {
	count() int
	// at reads the next batch, of number i. It stays valid until it is released.
	at(i int) (arrow.RecordBatch, error)
	// close frees memory. The file is the caller's.
	close()
}

// fileBatches are the batches of a file, which its footer lists.
type fileBatches struct {
	*ipc.FileReader
	footer *footer
}

func openFile(f *os.File, size int64, on memory.Allocator) (batches, *arrow.Schema, error) {
	end, err := readFooter(f, size)
	if err != nil {
		return nil, nil, err
	}
	in, err := ipc.NewFileReader(f, ipc.WithAllocator(on), ipc.WithBodySizeLimit(0))
	if err != nil {
		return nil, nil, err
	}
	return fileBatches{in, end}, in.Schema(), nil
}

func (b fileBatches) count() int { return b.NumRecords() }

func (b fileBatches) at(i int) (arrow.RecordBatch, error) {
	if err := b.footer.checkMessage(b.footer.batches, i); err != nil {
		return nil, err
	}
	return b.RecordBatchAt(i)
}

func (b fileBatches) close() { _ = b.Close() }

// streamBatches are the batches of a stream.
type streamBatches struct {
	*ipc.Reader
	batches int
}

func openStream(f *os.File, size int64, on memory.Allocator) (batches, *arrow.Schema, error) {
	n, err := checkStream(f, size)
	if err != nil {
		return nil, nil, err
	}
	in, err := ipc.NewReader(io.NewSectionReader(f, 0, size), ipc.WithAllocator(on), ipc.WithBodySizeLimit(0))
	if err != nil {
		return nil, nil, err
	}
	return streamBatches{in, n}, in.Schema(), nil
}

func (b streamBatches) count() int { return b.batches }

func (b streamBatches) at(int) (arrow.RecordBatch, error) {
	batch, err := b.Read()
	if err == nil {
		batch.Retain() // the reader releases it when it reads the next one
	}
	return batch, err
}

func (b streamBatches) close() { b.Release() }

// columnsOf returns the columns of a schema, with what pandas says of them in its metadata.
func columnsOf(s *arrow.Schema) (columns []table.FormatColumn) {
	text, _ := s.Metadata().GetValue(PandasKey)
	index := PandasIndex(text)
	for _, field := range s.Fields() {
		c := table.FormatColumn{Name: field.Name, Kind: kindOf(field.Type), Index: index[field.Name]}
		if field.Type.ID() == arrow.DURATION {
			c.Note = DurationNote
		}
		columns = append(columns, c)
	}
	return columns
}

// DurationNote is the warning about a column of durations.
const DurationNote = "has durations, which are read in seconds"

// SecondsOf returns a duration of a unit in seconds.
func SecondsOf(unit arrow.TimeUnit, count int64) float64 {
	return float64(count) / float64(arrow.Second.Multiplier()/unit.Multiplier())
}

// PandasKey is the key of pandas' metadata, in Arrow and in Parquet.
const PandasKey = "pandas"

// PandasIndex returns the columns that are the index of a pandas table by its metadata. Some indexes have no column.
func PandasIndex(metadata string) map[string]bool {
	var of struct {
		IndexColumns []any `json:"index_columns"`
	}
	_ = json.Unmarshal([]byte(metadata), &of) // of other programs
	names := map[string]bool{}
	for _, c := range of.IndexColumns {
		if name, ok := c.(string); ok {
			names[name] = true
		}
	}
	return names
}

// SchemaKey is the key of the schema of Arrow in the metadata of a Parquet file.
const SchemaKey = "ARROW:schema"

// StoredSchema reads such a schema.
func StoredSchema(text string) (*arrow.Schema, error) {
	raw, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil, err
	}
	in := bytes.NewReader(raw)
	if _, err := checkStream(in, int64(len(raw))); err != nil {
		return nil, err
	}
	reader, err := ipc.NewReader(io.NewSectionReader(in, 0, int64(len(raw))))
	if err != nil {
		return nil, err
	}
	defer reader.Release()
	return reader.Schema(), nil
}
