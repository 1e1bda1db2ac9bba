package columns

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"gpfit/gp/npy"
)

// Keys are the columns of text besides results, and the places of the results among the
// rows of a table.
type Keys struct {
	Names  []string
	Values [][]string
	// Blank marks the rows without results; nil if there are none.
	Blank []bool
}

// spread returns values with NaN at the blank rows.
func (k *Keys) spread(values []float64) []float64 {
	if k.Blank == nil {
		return values
	}
	out := make([]float64, len(k.Blank))
	next := 0
	for i, blank := range k.Blank {
		if out[i] = math.NaN(); !blank {
			out[i] = values[next]
			next++
		}
	}
	return out
}

// Place returns the row of the table that result i belongs to.
func (k *Keys) Place(i int) int {
	for row, blank := range k.Blank {
		if blank {
			continue
		}
		if i == 0 {
			return row
		}
		i--
	}
	return i
}

// Block is a piece of a table of results: N rows of columns of text, and columns of
// numbers after them, NaN in blank rows.
type Block struct {
	TextNames []string
	Texts     [][]string
	Names     []string
	Numbers   [][]float64
	N         int
}

func (b *Block) checkNames() error {
	seen := map[string]bool{}
	for _, names := range [][]string{b.TextNames, b.Names} {
		for _, name := range names {
			if seen[name] {
				return fmt.Errorf("the result has two columns %q: leave out the column of DATA, or give it another name there", name)
			}
			seen[name] = true
		}
	}
	return nil
}

// BlockEncoder writes the rows of a table, whose columns are the same in all calls.
type BlockEncoder interface {
	Encode(b *Block) error
	// End writes the rest. It does not close the writer.
	End() error
}

// NewCSV returns an encoder that writes CSV with a header. Blank rows have empty cells.
func NewCSV(w io.Writer) BlockEncoder { return &csvEncoder{w: bufio.NewWriterSize(w, 1<<16)} }

type csvEncoder struct {
	w      *bufio.Writer
	header bool // has been written
	line   []byte
}

func (e *csvEncoder) Encode(b *Block) error {
	if !e.header {
		e.header = true
		e.line = e.line[:0]
		for _, names := range [][]string{b.TextNames, b.Names} {
			for _, name := range names {
				e.line = append(appendCell(e.line, name), ',')
			}
		}
		if err := e.endLine(); err != nil {
			return err
		}
	}
	for i := range b.N {
		e.line = e.line[:0]
		for _, texts := range b.Texts {
			e.line = append(appendCell(e.line, texts[i]), ',')
		}
		for _, values := range b.Numbers {
			if v := values[i]; v == v {
				e.line = strconv.AppendFloat(e.line, v, 'g', -1, 64)
			}
			e.line = append(e.line, ',')
		}
		if err := e.endLine(); err != nil {
			return err
		}
	}
	return nil
}

// endLine writes the line, which ends with a comma. A reader would skip an empty line.
func (e *csvEncoder) endLine() error {
	if len(e.line) == 1 {
		e.line = append(e.line[:0], `"",`...)
	}
	e.line[len(e.line)-1] = '\n'
	_, err := e.w.Write(e.line)
	return err
}

func (e *csvEncoder) End() error { return e.w.Flush() }

// appendCell appends a cell of CSV, with quotes if it needs them.
func appendCell(line []byte, text string) []byte {
	if !strings.ContainsAny(text, ",\"\r\n") && strings.TrimSpace(text) == text && !strings.HasPrefix(text, "#") {
		return append(line, text...)
	}
	line = append(line, '"')
	line = append(line, strings.ReplaceAll(text, `"`, `""`)...)
	return append(line, '"')
}

// NewJSONLines returns an encoder that writes a JSON object for each row. Blank rows have null.
func NewJSONLines(w io.Writer) BlockEncoder { return &linesEncoder{w: bufio.NewWriterSize(w, 1<<16)} }

type linesEncoder struct {
	w    *bufio.Writer
	line []byte
}

func (e *linesEncoder) Encode(b *Block) error {
	texts, err := jsonNames(b.TextNames)
	if err != nil {
		return err
	}
	names, err := jsonNames(b.Names)
	if err != nil {
		return err
	}
	for i := range b.N {
		e.line = append(e.line[:0], '{')
		for c, name := range texts {
			value, err := json.Marshal(b.Texts[c][i])
			if err != nil {
				return err
			}
			e.line = append(append(append(e.line, name...), value...), ',')
		}
		for c, name := range names {
			e.line = append(appendNumber(append(e.line, name...), b.Numbers[c][i]), ',')
		}
		e.line = append(e.line[:len(e.line)-1], '}', '\n')
		if _, err := e.w.Write(e.line); err != nil {
			return err
		}
	}
	return nil
}

func (e *linesEncoder) End() error { return e.w.Flush() }

// jsonNames returns the names as JSON, with colons.
func jsonNames(names []string) ([]string, error) {
	out := make([]string, len(names))
	for i, name := range names {
		text, err := json.Marshal(name)
		if err != nil {
			return nil, err
		}
		out[i] = string(text) + ":"
	}
	return out, nil
}

func appendNumber(line []byte, v float64) []byte {
	if v != v {
		return append(line, "null"...)
	}
	return strconv.AppendFloat(line, v, 'g', -1, 64)
}

// NewNPY returns an encoder that writes one NumPy array with a row for each row, NaN in
// blank rows. It holds all numbers in memory, because the array's header has their
// number. It cannot write text.
func NewNPY(w io.Writer) BlockEncoder { return &npyEncoder{w: w} }

type npyEncoder struct {
	w       io.Writer
	columns int
	values  []float64
}

func (e *npyEncoder) Encode(b *Block) error {
	if len(b.TextNames) > 0 {
		return fmt.Errorf("a NumPy array of numbers cannot hold the text of column %q", b.TextNames[0])
	}
	e.columns = len(b.Numbers)
	for i := range b.N {
		for _, values := range b.Numbers {
			e.values = append(e.values, values[i])
		}
	}
	return nil
}

func (e *npyEncoder) End() error {
	return npy.Array{Shape: []int{len(e.values) / max(e.columns, 1), e.columns}, Values: e.values}.Write(e.w)
}

// numbers is a column of a JSON object. NaN, of a blank row, is null.
type numbers []float64

// MarshalJSON implements [json.Marshaler].
func (v numbers) MarshalJSON() ([]byte, error) {
	blank := make([]*float64, len(v))
	for i := range v {
		if v[i] == v[i] {
			blank[i] = &v[i]
		}
	}
	return json.Marshal(blank)
}
