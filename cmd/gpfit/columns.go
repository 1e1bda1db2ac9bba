package main

import (
	"bufio"
	"encoding/csv"
	"io"
	"strconv"
)

// column is a named column of a result.
type column struct {
	name   string
	values []float64
}

// writeColumns writes columns of equal length as CSV with a header.
func writeColumns(w io.Writer, columns []column) error {
	b := bufio.NewWriter(w)
	names := make([]string, len(columns))
	for q, c := range columns {
		names[q] = c.name
	}
	header := csv.NewWriter(b)
	if err := header.Write(names); err != nil {
		return err
	}
	header.Flush()
	var line []byte
	for i := range columns[0].values {
		line = line[:0]
		for q, c := range columns {
			if q > 0 {
				line = append(line, ',')
			}
			line = strconv.AppendFloat(line, c.values[i], 'g', -1, 64)
		}
		if _, err := b.Write(append(line, '\n')); err != nil {
			return err
		}
	}
	return b.Flush()
}

// drawColumns turns draws, count×m row-major, into columns draw0, draw1, ….
func drawColumns(draws []float64, count int) []column {
	m := len(draws) / max(count, 1)
	out := make([]column, count)
	for d := range out {
		out[d] = column{"draw" + strconv.Itoa(d), draws[d*m : (d+1)*m]}
	}
	return out
}

// levelName is a probability in percent, as in lower95.
func levelName(p float64) string {
	return strconv.FormatFloat(100*p, 'g', 10, 64)
}
