package table

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"gpfit/table/feature"
)

// headerRows is the number of rows below the first one that tell whether it is a header.
const headerRows = 100

// firstRow is the first row of a text, the current one of scan.
type firstRow struct {
	scan   *scanner
	parse  func(cell []byte) (float64, bool)
	isData func(cell []byte) bool // whether a cell shows that the row is no header
	warn   []string
}

// isHeader reports whether the row is a header. It returns an error if the row may be both. It warns of
// a header that has numbers.
//
// A row is a header if one of its cells is a word, or if all of its cells are in quotes and no row below
// has quotes around all cells. Otherwise it is data. The rows below may tell against that. A name of a
// column that opts selects decides, if the row has it.
func (in *firstRow) isHeader(opts Options) (bool, error) {
	cells := in.scan.cells
	named, sure := namedBy(opts, cells)
	if sure && opts.ByName {
		return named, nil
	}
	b := in.lookBelow()
	if in.scan.marks == len(cells) && b.rows > 0 && !b.quoted {
		return true, nil
	}
	words, numbers := in.wordsAndNumbers(opts.Columns != nil || opts.Encoding != nil)
	switch {
	case len(numbers) == 0:
		return len(words) > 0, nil
	case len(words) == 0 && len(cells) > 2 && len(cells[0]) == 0 && countColumns(cells[1:]):
		return true, nil
	}
	if len(words) == 0 {
		why := b.looksLikeLabels(cells, numbers)
		if why != "" && !sure {
			return false, in.doubtful(why)
		}
		if why == "" && len(cells) > 2 && b.counts == 0 && countColumns(cells) {
			in.warn = append(in.warn, fmt.Sprintf("line %d is read as data, although its cells count the columns, as the header of a data frame without names does; option header yes reads it as the header", in.scan.start))
		}
		return why != "" && named, nil
	}
	word, number := words[0], numbers[0]
	if why := b.looksLikeData(cells, words, numbers); why != "" && !sure {
		return true, in.doubtful(why)
	}
	in.warn = append(in.warn, fmt.Sprintf(
		"line %d is read as the header, because %s in column %d is not a number, although %s in column %d is",
		in.scan.start, quote(string(cells[word])), word+1, quote(string(cells[number])), number+1))
	return true, nil
}

// doubtful returns the error for a first row that may be a header and may be data.
func (in *firstRow) doubtful(why string) error {
	shown := []string{}
	for _, cell := range in.scan.cells[:min(3, len(in.scan.cells))] {
		shown = append(shown, quote(string(cell)))
	}
	list := strings.Join(shown, ", ")
	if len(in.scan.cells) > len(shown) {
		list += ", …"
	}
	return &Error{Source: in.scan.source, Line: in.scan.start, Msg: fmt.Sprintf("is this row the header or data? As the header, its cells %s are the names of the columns; as data, they are the values of the first row. %s. Option header yes or no says which", list, why)}
}

// namedBy reports whether a first row is a header, and whether the names that opts selects leave no
// doubt.
func namedBy(opts Options, cells [][]byte) (named, sure bool) {
	n := len(cells)
	has := func(name string) bool {
		return slices.ContainsFunc(cells, func(cell []byte) bool { return string(cell) == name })
	}
	isIndex := func(spec string) bool {
		i, err := strconv.Atoi(spec)
		_, to, isRange := parseRange(spec)
		return err == nil && -n <= i && i < n || isRange && to < n
	}
	byPlace := opts.ByName && len(opts.Features) > 0
	for _, spec := range slices.Concat([]string{opts.Target}, opts.Targets, opts.Features, opts.Exclude, opts.Extra, opts.ExtraText, opts.Keep) {
		if spec != "" && has(spec) && !isIndex(spec) {
			return true, true
		}
	}
	for _, name := range opts.Features {
		i, err := strconv.Atoi(strings.TrimPrefix(name, "x"))
		byPlace = byPlace && strings.HasPrefix(name, "x") && err == nil && 0 <= i && i < n
	}
	return false, byPlace
}

// wordsAndNumbers returns which cells of the first row are words, that is names of columns, and which
// are numbers. With dates, a date is no word.
func (in *firstRow) wordsAndNumbers(dates bool) (words, numbers []int) {
	for i, cell := range in.scan.cells {
		if !in.isData(cell) && !(dates && (feature.Recognize(string(cell)) == feature.Date || feature.UnclearDate(string(cell)))) {
			words = append(words, i)
		} else if _, ok := in.parse(cell); ok {
			numbers = append(numbers, i)
		}
	}
	return words, numbers
}

// countColumns reports whether the cells are 0, 1, 2, …: the header of a data frame without names.
func countColumns(cells [][]byte) bool {
	for i, cell := range cells {
		if string(cell) != strconv.Itoa(i) {
			return false
		}
	}
	return true
}

// below describes the first rows below the first row of a file.
type below struct {
	parse   func(cell []byte) (float64, bool)
	rows    int
	columns []columnBelow
	rising  int  // rows whose numbers rise from left to right
	quoted  bool // all cells of a row are in quotes
	counts  int  // rows whose numbers are each one more than the number before
}

// columnBelow describes the cells of a column there.
type columnBelow struct {
	numbers, fractions, words int
	low, high                 float64
	labels                    map[string]bool
}

// lookBelow returns what the rows hold that the buffer has.
func (in *firstRow) lookBelow() below {
	text, _ := in.scan.in.Peek(in.scan.in.Buffered()) // they are there
	s := &scanner{source: in.scan.source, sep: in.scan.sep, decoded: in.scan.decoded, start: 1, line: in.scan.line, skip: in.scan.skip, in: bufio.NewReaderSize(bytes.NewReader(text), 1<<12)}
	b := below{parse: in.parse, columns: make([]columnBelow, len(in.scan.cells))}
	for i := range b.columns {
		b.columns[i] = columnBelow{low: math.Inf(1), high: math.Inf(-1), labels: map[string]bool{}}
	}
	for b.rows < headerRows && s.next() == nil && len(s.cells) == len(b.columns) {
		if _, err := s.in.Peek(1); err == io.EOF && len(text) > 0 && text[len(text)-1] != '\n' && b.rows > 0 {
			break // the buffer may cut the row off
		}
		b.rows++
		b.quoted = b.quoted || s.marks == len(s.cells)
		rising, counts, last := true, true, math.Inf(-1)
		for c, cell := range s.cells {
			v, ok := in.parse(cell)
			rising, counts = rising && ok && v > last, counts && ok && (c == 0 || v == last+1)
			last = v
			b.columns[c].take(cell, v, ok, in.isData(cell))
		}
		if rising {
			b.rising++
		}
		if counts {
			b.counts++
		}
	}
	return b
}

func (c *columnBelow) take(cell []byte, v float64, isNumber, isData bool) {
	switch {
	case isNumber:
		c.numbers++
		c.low, c.high = min(c.low, v), max(c.high, v)
		if !isWhole(cell) {
			c.fractions++
		}
	case !isData:
		c.words++
		c.labels[string(cell)] = true
	}
}

// isWhole reports whether a number is written with only digits, as labels are.
func isWhole(cell []byte) bool {
	return len(cell) > 0 && len(bytes.TrimLeft(cell, "0123456789")) == 0
}

// far reports whether v lies outside of the numbers of the column by more than their range.
func (c *columnBelow) far(v float64) bool {
	return c.numbers > 0 && max(c.low-v, v-c.high) > c.high-c.low
}

// within reports whether v lies within the range of the column's numbers.
func (c *columnBelow) within(v float64) bool { return c.low <= v && v <= c.high }

// looksLikeLabels says why a first row of numbers may be a header, "" if it is data.
func (b *below) looksLikeLabels(cells [][]byte, numbers []int) string {
	if b.rows == 0 {
		return ""
	}
	for _, c := range numbers {
		if col := &b.columns[c]; col.words == b.rows && b.rows > 1 {
			return fmt.Sprintf("It has a number in column %d, which has texts below", c+1)
		}
	}
	if len(numbers) < len(cells) {
		return ""
	}
	whole, rising, counts, far, fractional := true, true, true, true, 0
	last := math.Inf(-1)
	for i, cell := range cells {
		v, _ := b.parse(cell)
		whole, rising = whole && isWhole(cell), rising && v > last
		counts = counts && (i == 0 || v == last+1)
		col := &b.columns[i]
		far, last = far && col.far(v), v
		if 2*col.fractions > col.numbers {
			fractional++
		}
	}
	const several, many = 3, 6
	n := len(cells)
	switch {
	case whole && n > 1 && rising && fractional >= max(2, (n+1)/2):
		return "Its whole numbers rise from left to right, and most numbers below have decimals"
	case whole && counts && far && b.rows >= several && (n > 1 || fractional == 1):
		return "Its whole numbers count, and lie far off the numbers below"
	case n >= several && countColumns(cells) && b.counts == 0 && b.rows >= several:
		return "Its cells count the columns, as the header of a data frame without names does"
	case n >= many && rising && 2*b.rising <= b.rows:
		return "Its numbers rise from left to right, unlike those of most rows below"
	}
	return ""
}

// looksLikeData says why a first row with words and numbers may be data, "" if it is a header.
func (b *below) looksLikeData(cells [][]byte, words, numbers []int) string {
	above := 0 // words above numbers
	for _, c := range words {
		if b.columns[c].labels[string(cells[c])] {
			return fmt.Sprintf("Column %d has %s again below", c+1, quote(string(cells[c])))
		}
		if b.columns[c].numbers > 0 {
			above++
		}
	}
	if above > 1 { // two errors in one row of data are rare
		return ""
	}
	counts, last := len(numbers) > 1, math.NaN()
	for k, c := range numbers {
		v, _ := b.parse(cells[c])
		counts = counts && isWhole(cells[c]) && (k == 0 || v == last+1)
		last = v
	}
	for _, c := range numbers {
		col := &b.columns[c]
		switch v, _ := b.parse(cells[c]); {
		case col.numbers == 0:
		case !isWhole(cells[c]):
			return fmt.Sprintf("Column %d has numbers below, and %s is no usual name", c+1, quote(string(cells[c])))
		case col.within(v) && !counts:
			return fmt.Sprintf("Column %d has numbers such as %s below", c+1, cells[c])
		}
	}
	return ""
}
