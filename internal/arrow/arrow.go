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
	"strconv"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"

	"gpfit/table"
)

// Format returns the Arrow format for [table.Options].
func Format() table.Format { return table.Format{Name: "Arrow", Magic: magic, Open: open} }

// rows is an Arrow file, read batch by batch.
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
	at      []int // for each column its place in values, or −1
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
		in.at = append(in.at, -1)
	}
	if len(in.columns) == 0 {
		return &table.Error{Source: in.path, Msg: "the Arrow file has no columns"}
	}
	return nil
}

// Columns implements [table.FormatRows].
func (in *rows) Columns() []table.FormatColumn { return in.columns }

// Use implements [table.FormatRows].
func (in *rows) Use(numbers, labels []int) error {
	for _, list := range []struct {
		columns []int
		ok      func(arrow.DataType) bool
		what    string
	}{{numbers, isNumber, "numbers"}, {labels, hasLabel, "labels"}} {
		for _, c := range list.columns {
			if t := in.in.Schema().Field(c).Type; !list.ok(t) {
				return &table.Error{Source: in.path, Column: c + 1, ColumnName: in.columns[c].Name, Msg: fmt.Sprintf("holds %s values, not %s", t, list.what)}
			}
			if in.at[c] < 0 {
				in.at[c] = len(in.used)
				in.used = append(in.used, c)
			}
		}
	}
	in.values = make([]value, len(in.used))
	return nil
}

// Next implements [table.FormatRows].
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

func (in *rows) value(c int) *value { return &in.values[in.at[c]] }

// Number implements [table.FormatRows].
func (in *rows) Number(c int) (float64, bool) {
	v := in.value(c).number
	return v, v-v == 0
}

// Label implements [table.FormatRows].
func (in *rows) Label(c int) string {
	if v := in.value(c); v.number == v.number {
		return strconv.FormatFloat(v.number, 'g', -1, 64)
	}
	return in.value(c).label
}

// Missing implements [table.FormatRows].
func (in *rows) Missing(c int) bool {
	v := in.value(c)
	return v.null || v.number != v.number && v.label == ""
}

// Problem implements [table.FormatRows].
func (in *rows) Problem(c int) string {
	switch v := in.value(c); {
	case v.null:
		return "null"
	case isNumber(in.in.Schema().Field(c).Type):
		return fmt.Sprintf("not a finite number: %v", v.number)
	}
	return "empty cell"
}

// Progress implements [table.FormatRows].
func (in *rows) Progress() float64 {
	if in.batch == nil {
		return 0
	}
	part := float64(in.row+1) / float64(in.batch.NumRows())
	return (float64(in.next-1) + part) / float64(in.in.NumRecords())
}

// Close implements [table.FormatRows].
func (in *rows) Close() error {
	if in.batch != nil {
		in.batch.Release()
	}
	_ = in.in.Close() // it frees memory; the file is ours
	return in.file.Close()
}
