package table

import (
	"fmt"
	"io"
	"math"

	"gpfit/internal/hostmem"
)

// Read reads the table at path: a file in any of the formats, or several files of one format with
// the same columns as one table, given as a directory or a pattern such as "part-*.csv". Every
// error in the content is an [*Error]. So is the error for a file that cannot be opened, which
// wraps the cause, such as [os.ErrNotExist]. For standard input use [ReadFrom].
//
// Read takes the memory of the result, a sixteenth more while it grows, and a buffer
// of fixed size. If the number of rows cannot be estimated, as for a pipe, growing
// takes up to 2¼ times the result.
func Read(path string, opts Options) (*Table, error) {
	r, err := open(path, opts)
	if err != nil {
		return nil, err
	}
	return r.readAll()
}

// ReadFrom reads a table of text from r. source is its name in errors, "-" for
// standard input. ReadFrom reads to the end of r and does not close it.
func ReadFrom(r io.Reader, source string, opts Options) (*Table, error) {
	in, err := newTextReader(r, source, opts)
	if err != nil {
		return nil, err
	}
	return in.readAll()
}

// readAll reads the whole table, or draws a subsample from it.
func (r *Reader) readAll() (*Table, error) {
	defer r.Close()
	t, left := r.newTable(), 0
	if r.encoded == nil && len(r.opts.Features) == 0 {
		r.index = r.src.begun().newRowIndex(r.sel.features, r.cells)
	}
	sample := newSample(r.opts)
	if sample != nil {
		t.Row = []int{}
	}
	room := 0
	for {
		if t.N == room {
			var err error
			if room, err = r.grow(t); err != nil {
				return nil, err
			}
		}
		if err := r.append(t); err == io.EOF {
			break
		} else if err != nil {
			return nil, err
		}
		if sample != nil {
			sample.settle(t)
		}
		if most := r.opts.MaxRows; most > 0 && t.N > most {
			return nil, &Error{TooLarge: true, Source: r.src.begun().source, Msg: fmt.Sprintf("the table has more than %d rows: no device holds the matrix of an exact fit, which has a row and a column for each of them; of one to three columns, take --method tree, which bounds its error; otherwise take a random subsample (--subsample), or divide the rows among local experts (gpfit fit --experts kmeans:K)", most)}
		}
	}
	if t.N == 0 {
		return nil, r.nothing()
	}
	t.SourceRows, t.Reading, t.Warnings = r.rows, r.Reading(), r.Warnings()
	if note := sample.finish(t); note != "" {
		t.Warnings = append(t.Warnings, note)
	}
	if r.index != nil {
		left = r.index.leaveOut(t, r.cells)
	}
	if r.opts.Columns == nil || r.opts.Encoding != nil {
		return t, nil
	}
	if err := r.src.begun().encode(t, r.cells[left:], r.sel.features[left:], r.opts); err != nil {
		return nil, err
	}
	return t, nil
}

// grow makes room in t for further rows, if there is memory, and returns the number
// of rows that t can then hold.
func (r *Reader) grow(t *Table) (int, error) {
	// Growing keeps the old numbers beside the new ones.
	perRow := int64(8 * (t.D + 3 + len(r.sel.targets) + len(r.sel.extra) + 2*len(r.sel.extraStr)))
	room := r.expect(t.N)
	if need := int64(room) * perRow; need > little {
		free := hostmem.Free()
		if free > 0 && need > free {
			room = t.N + t.N/4 + 1
			need = int64(room) * perRow
		}
		if free > 0 && need > free {
			return 0, tooLarge(r.src.begun().source, need, free)
		}
	}
	t.reserve(room)
	return room, nil
}

// expect returns how many rows to make room for after reading n rows: the forecast of
// the total, so that growing does not take twice the memory. A wrong forecast takes
// at most 16 times the memory of the rows read.
func (r *Reader) expect(n int) int {
	const first, fewest, margin = 1 << 12, 16, 1.02
	if least := max(fewest, first*8/max(len(r.sel.features), 8)); n < least {
		return least // less for a table of many columns
	}
	forecast := 0.0
	if p := r.src.progress(); p > 0 {
		forecast = margin * float64(n) / p
	}
	room := max(n+n/4, int(min(forecast, 16*float64(n))))
	for _, most := range []int{r.opts.Subsample, r.opts.MaxRows} {
		if most >= n && most < math.MaxInt {
			room = min(room, most+1)
		}
	}
	return room
}
