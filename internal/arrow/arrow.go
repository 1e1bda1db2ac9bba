// Package arrow reads Arrow IPC files (.arrow, and .feather of version 2) for package
// table: pass [Format] in the options of a reader,
//
//	t, err := table.Read("data.feather", table.Options{Formats: []table.Format{arrow.Format()}})
//
// It reads numbers, decimals and bool as numbers, and texts, dates and times as labels,
// also if they are encoded by a dictionary. Damaged files are errors, and a batch gets no
// memory that the file cannot fill.
package arrow

import (
	"fmt"
	"io"
	"os"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"

	"gpfit/table"
)

// Format returns the Arrow format for [table.Options].
func Format() table.Format { return table.Format{Name: "Arrow", Magic: magic, Open: open} }

// rows is an Arrow file, read batch by batch. It implements [table.FormatRows].
type rows struct {
	path    string
	columns []table.FormatColumn
	file    *os.File
	memory  *allocator
	footer  *footer
	in      *ipc.FileReader
	used    []int // the columns in use
	batch   arrow.RecordBatch
	next    int // the next batch
	row     int // the current row of the batch
	values  []value
}

// open opens an Arrow file.
func open(f *os.File, path string) (table.FormatRows, error) {
	in := &rows{path: path, file: f}
	if err := in.guard(in.open); err != nil {
		return nil, err
	}
	return in, nil
}

// guard calls do, which may fail on a damaged file.
func (in *rows) guard(do func() error) error { return table.Guard(in.path, "Arrow", do) }

func (in *rows) open() error {
	info, err := in.file.Stat()
	if err != nil {
		return err
	}
	in.memory = newAllocator(info.Size())
	if in.footer, err = readFooter(in.file, info.Size()); err != nil {
		return err
	}
	if in.in, err = ipc.NewFileReader(in.file, ipc.WithAllocator(in.memory), ipc.WithBodySizeLimit(0)); err != nil {
		return err
	}
	for _, field := range in.in.Schema().Fields() {
		in.columns = append(in.columns, table.FormatColumn{Name: field.Name, Kind: kindOf(field.Type)})
	}
	if len(in.columns) == 0 {
		return &table.Error{Source: in.path, Msg: "the Arrow file has no columns"}
	}
	return nil
}

func (in *rows) Columns() []table.FormatColumn { return in.columns }

func (in *rows) Use(columns []table.FormatUse) error {
	for _, u := range columns {
		t, want := in.in.Schema().Field(u.Column).Type, ""
		switch {
		case u.Number && !isNumber(t):
			want = "numbers"
		case u.Label && !hasLabel(t):
			want = "labels"
		}
		if want != "" {
			return &table.Error{Source: in.path, Column: u.Column + 1, ColumnName: in.columns[u.Column].Name, Msg: fmt.Sprintf("holds %s values, not %s", t, want)}
		}
		in.used = append(in.used, u.Column)
	}
	in.values = make([]value, len(in.used))
	return nil
}

func (in *rows) Next() error {
	in.row++
	for in.batch == nil || int64(in.row) >= in.batch.NumRows() {
		if in.next == in.in.NumRecords() {
			return io.EOF
		}
		if err := in.guard(in.load); err != nil {
			return err
		}
	}
	return in.guard(in.decode)
}

// load reads the next batch.
func (in *rows) load() error {
	if in.batch != nil {
		in.batch.Release()
		in.batch = nil
	}
	if err := in.footer.checkBatch(in.next); err != nil {
		return err
	}
	in.memory.used = 0
	batch, err := in.in.RecordBatchAt(in.next)
	if err != nil {
		return err
	}
	in.batch, in.row = batch, 0
	in.next++
	for _, c := range in.used {
		if n := int64(batch.Column(c).Len()); n != batch.NumRows() {
			return fmt.Errorf("column %d of a batch has %d rows, not %d", c+1, n, batch.NumRows())
		}
	}
	return nil
}

// decode decodes the current row.
func (in *rows) decode() error {
	for i, c := range in.used {
		in.values[i] = valueOf(in.batch.Column(c), in.row)
	}
	return nil
}

func (in *rows) Null(c int) bool { return in.values[c].null }

func (in *rows) Number(c int) float64 { return in.values[c].number }

func (in *rows) Label(c int) string { return in.values[c].label }

func (in *rows) Progress() float64 {
	if in.batch == nil {
		return 0
	}
	part := float64(in.row+1) / float64(in.batch.NumRows())
	return (float64(in.next-1) + part) / float64(in.in.NumRecords())
}

func (in *rows) Close() error {
	if in.batch != nil {
		in.batch.Release()
	}
	_ = in.in.Close() // it frees memory; the file is ours
	return in.file.Close()
}
