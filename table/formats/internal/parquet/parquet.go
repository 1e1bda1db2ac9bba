// Package parquet reads Apache Parquet files for package table: pass [Format] in the
// options of a reader,
//
//	t, err := table.Read("data.parquet", table.Options{Formats: []table.Format{parquet.Format()}})
//
// It reads columns of numbers, decimals or bool as numbers, durations as seconds, and other columns as labels. Damaged
// files are errors, and a page gets no memory that its bytes and values cannot fill.
package parquet

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strconv"

	arrowlib "github.com/apache/arrow-go/v18/arrow"
	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"

	"gpfit/table"
	"gpfit/table/feature"
	"gpfit/table/formats/internal/arrow"
)

// Format returns the Parquet format for [table.Options].
func Format() table.Format { return table.Format{Name: "Parquet", Magics: []string{magic}, Open: open} }

// block is the number of rows that are decoded at a time.
const block = 1 << 10

// rows is a Parquet file of plain columns, read in blocks. It implements [table.FormatRows].
type rows struct {
	path    string
	columns []table.FormatColumn
	file    *os.File
	size    int64 // of the file
	meta    *format.FileMetaData
	groups  []parquet.RowGroup
	leaves  []*parquet.Column // the columns; nil for one that contains columns
	// spans are the units of the columns of durations.
	spans  map[string]arrowlib.TimeUnit
	used   []column
	total  int64 // rows
	row    int64 // the current one, from 0; −1 before the first
	begin  int64 // the first row of the block
	length int   // its rows
	group  int   // the next row group
	left   int64 // rows left in the previous one
}

// column is a column in use.
type column struct {
	index    int
	of       parquet.Type
	pages    parquet.Pages
	page     parquet.ValueReader         // of the current page; nil before the first
	values   []parquet.Value             // the block
	text     bool                        // whether labels are needed
	label    func(parquet.Value) string  // the label of a date or time; else nil
	number   func(parquet.Value) float64 // of a decimal, a duration or 16 bits; else nil
	unsigned bool
}

// guard calls do, which may fail on a damaged file.
func (in *rows) guard(do func() error) error { return table.Guard(in.path, "Parquet", do) }

// open opens a file in this format.
func open(f *os.File, path string) (table.FormatRows, error) {
	in := &rows{path: path, file: f, row: -1}
	return in, in.open()
}

func (in *rows) open() error {
	info, err := in.file.Stat()
	if err != nil {
		return err
	}
	if err := checkFooter(in.file, info.Size()); err != nil {
		return err
	}
	pf, err := parquet.OpenFile(in.file, info.Size(), parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true))
	if err != nil {
		return err
	}
	in.size, in.meta = info.Size(), pf.Metadata()
	in.groups, in.total = pf.RowGroups(), pf.NumRows()
	sum := int64(0)
	for _, g := range in.groups {
		if g.NumRows() < 0 {
			return errors.New("a row group has a negative number of rows")
		}
		sum += g.NumRows()
	}
	if sum != in.total {
		return fmt.Errorf("the row groups have %d rows, but the file has %d", sum, in.total)
	}
	return in.describe(pf.Root().Columns())
}

// describe describes the columns, with what pandas and Arrow say of them in the metadata of the file.
func (in *rows) describe(columns []*parquet.Column) error {
	stored := map[string]string{}
	for _, pair := range in.meta.KeyValueMetadata {
		stored[pair.Key] = pair.Value
	}
	if text := stored[arrow.SchemaKey]; text != "" {
		schema, err := arrow.StoredSchema(text)
		if err != nil {
			return fmt.Errorf("its schema of Arrow: %w", err)
		}
		in.spans = map[string]arrowlib.TimeUnit{}
		for _, f := range schema.Fields() {
			if t, ok := f.Type.(*arrowlib.DurationType); ok {
				in.spans[f.Name] = t.Unit
			}
		}
	}
	index := arrow.PandasIndex(stored[arrow.PandasKey])
	for _, c := range columns {
		one := table.FormatColumn{Name: c.Name(), Kind: kindOf(c), Index: index[c.Name()]}
		if in.numberOf(c) != nil {
			one.Kind = feature.Number
		}
		if _, ok := in.spans[c.Name()]; ok {
			one.Note = arrow.DurationNote
		}
		in.columns, in.leaves = append(in.columns, one), append(in.leaves, c)
	}
	return nil
}

func (in *rows) Columns() []table.FormatColumn { return in.columns }

func (in *rows) Use(columns []table.FormatUse) error {
	for _, u := range columns {
		leaf, why := in.leaves[u.Column], ""
		switch {
		case in.numberOf(leaf) != nil:
		case u.Number:
			why = notNumeric(leaf)
		case !leaf.Leaf() || leaf.Repeated():
			why = "holds lists or structures, not labels"
		}
		if why != "" {
			return &table.Error{Source: in.path, Column: u.Column + 1, ColumnName: in.columns[u.Column].Name, Msg: why}
		}
		c := column{index: leaf.Index(), of: leaf.Type(), text: u.Label, unsigned: isUnsigned(leaf.Type()), number: in.numberOf(leaf)}
		if u.Label && c.number == nil {
			c.label = timeLabel(c.of)
		}
		in.used = append(in.used, c)
	}
	return nil
}

func (in *rows) Next() error {
	if in.row+1 >= in.total {
		return io.EOF
	}
	in.row++
	if in.row < in.begin+int64(in.length) {
		return nil
	}
	return in.guard(in.load)
}

// load decodes the block that begins with the current row. A block does not extend
// beyond its row group.
func (in *rows) load() error {
	for in.left == 0 {
		if in.group == len(in.groups) {
			return errors.New("rows are missing at the end")
		}
		g := in.groups[in.group]
		if err := in.checkGroup(in.group); err != nil {
			return err
		}
		in.group++
		in.left = g.NumRows()
		chunks := g.ColumnChunks()
		for i := range in.used {
			u := &in.used[i]
			if u.pages != nil {
				u.pages.Close()
			}
			u.page, u.pages = nil, chunks[u.index].Pages()
		}
	}
	in.begin, in.length = in.row, int(min(in.left, block))
	in.left -= int64(in.length)
	for i := range in.used {
		if err := in.used[i].read(in.length); err != nil {
			return err
		}
	}
	return nil
}

// checkGroup checks the pages of a row group before they are read.
func (in *rows) checkGroup(i int) error {
	for _, u := range in.used {
		c := chunk{in.file, in.size, &in.meta.RowGroups[i].Columns[u.index].MetaData, in.groups[i].NumRows()}
		if err := c.check(); err != nil {
			return err
		}
	}
	return nil
}

// read reads the next n values, from one or more pages.
func (u *column) read(n int) error {
	if u.values == nil {
		u.values = make([]parquet.Value, block)
	}
	for have := 0; have < n; {
		if u.page == nil {
			page, err := u.pages.ReadPage()
			if err == io.EOF {
				return errors.New("a column ends too early")
			} else if err != nil {
				return err
			}
			u.page = page.Values()
		}
		k, err := u.page.ReadValues(u.values[have:n])
		if u.text {
			// A page's strings become invalid with the page.
			for i, v := range u.values[have : have+k] {
				u.values[have+i] = v.Clone()
			}
		}
		have += k
		switch {
		case err == io.EOF:
			u.page = nil
		case err != nil:
			return err
		case k == 0:
			return io.ErrNoProgress
		}
	}
	return nil
}

func (in *rows) value(c int) parquet.Value {
	return in.used[c].values[in.row-in.begin]
}

func (in *rows) Null(c int) bool { return in.value(c).IsNull() }

// Number rounds integers beyond 2⁵³, of which Text has all digits.
func (in *rows) Number(c int) float64 {
	v := in.value(c)
	if number := in.used[c].number; number != nil && !v.IsNull() {
		return number(v)
	}
	switch unsigned := in.used[c].unsigned; v.Kind() {
	case parquet.Boolean:
		if v.Boolean() {
			return 1
		}
		return 0
	case parquet.Int32:
		if unsigned {
			return float64(v.Uint32())
		}
		return float64(v.Int32())
	case parquet.Int64:
		if unsigned {
			return float64(v.Uint64())
		}
		return float64(v.Int64())
	case parquet.Float:
		return float64(v.Float())
	case parquet.Double:
		return v.Double()
	}
	return math.NaN()
}

func (in *rows) Label(c int) string {
	switch v, label := in.value(c), in.used[c].label; {
	case v.IsNull():
		return ""
	case label != nil:
		return label(v)
	case in.used[c].number == nil && (v.Kind() == parquet.ByteArray || v.Kind() == parquet.FixedLenByteArray):
		return string(v.ByteArray())
	}
	return ""
}

// Text implements [table.Texter]: integers in full, dates and times as ISO 8601 writes
// them, and strings as they are.
func (in *rows) Text(c int) string {
	v := in.value(c)
	if v.IsNull() {
		return ""
	}
	u := &in.used[c]
	switch kind := v.Kind(); {
	case u.label != nil:
		if t := u.of.LogicalType(); t != nil {
			if at, ok := t.Value.(*format.TimestampType); ok && at.IsAdjustedToUTC {
				return u.label(v) + "Z"
			}
		}
		return u.label(v)
	case kind == parquet.Double || u.number != nil:
		return table.NumberText(in.Number(c))
	case kind == parquet.Int32 && u.unsigned:
		return strconv.FormatUint(uint64(v.Uint32()), 10)
	case kind == parquet.Int64 && u.unsigned:
		return strconv.FormatUint(v.Uint64(), 10)
	case kind == parquet.ByteArray || kind == parquet.FixedLenByteArray:
		return in.Label(c)
	}
	return v.String()
}

func (in *rows) Progress() float64 { return float64(in.row+1) / float64(max(in.total, 1)) }

func (in *rows) Close() error {
	for _, u := range in.used {
		if u.pages != nil {
			_ = in.guard(u.pages.Close)
		}
	}
	return in.file.Close()
}
