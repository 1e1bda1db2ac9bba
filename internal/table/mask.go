package table

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
)

// ReadMask reads a split mask: one column of a table in the file path, whose
// cells are all 0 or 1; true is 1. The other columns are not looked at. col is
// the column's index, from 0, negative ones count from the end. The formats are
// those of [Read], the first row is a header if [HeaderAuto] says so; errors are
// of type [*Error]. That a mask has as many rows as the table it splits is for
// the caller to check.
func ReadMask(path string, col int) ([]bool, error) {
	f, err := openFile(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	in, err := openRows(f, path, HeaderAuto, 0)
	if err != nil {
		return nil, err
	}
	c, err := in.byIndex("mask", strconv.Itoa(col), col)
	if err != nil {
		return nil, err
	}
	var mask []bool
	for {
		cells, err := in.next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, err
		}
		v, ok := parseNumber(cells[c])
		if !ok || v != 0 && v != 1 {
			msg := "empty cell in a mask"
			if len(cells[c]) > 0 {
				msg = "not 0 or 1 in a mask: " + quote(string(cells[c]))
			}
			return nil, in.errorAt(c, msg)
		}
		mask = append(mask, v == 1)
	}
	if len(mask) == 0 {
		return nil, in.noRows()
	}
	return mask, nil
}

// ParseMaskFlag takes apart FILE or FILE:COL, with COL as [ReadMask] takes it
// and 0 by default. If there is a file of the whole name, colon and all, that
// file is meant.
func ParseMaskFlag(s string) (path string, col int, err error) {
	if s == "" {
		return "", 0, fmt.Errorf("mask: no file named")
	}
	if info, err := os.Stat(s); err == nil && !info.IsDir() {
		return s, 0, nil
	}
	i := strings.LastIndexByte(s, ':')
	if i < 0 {
		return s, 0, nil
	}
	path = s[:i]
	if path == "" {
		return "", 0, fmt.Errorf("mask %q: no file named before the colon", s)
	}
	if col, err = strconv.Atoi(s[i+1:]); err != nil {
		return "", 0, fmt.Errorf("mask %q: %q after the colon is not the index of a column", s, s[i+1:])
	}
	return path, col, nil
}
