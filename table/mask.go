package table

import (
	"fmt"
	"io"
	"os"
	"strings"
)

// ReadMask reads a split mask: one column of the table at path, whose cells are
// all 0 or 1; true is 1. The other columns are not looked at. column is a name
// or an index, as in [Options]; "" is the first one. The formats are those of
// [Read], with those given beside; the first row is a header if [HeaderAuto] says so; errors are of type
// [*Error]. That a mask has as many rows as the table it splits is for the caller
// to check.
func ReadMask(path, column string, formats ...Format) ([]bool, error) {
	in, err := openPath(path, Options{Formats: formats})
	if err != nil {
		return nil, err
	}
	defer in.close()
	c := 0
	if column != "" {
		if c, err = in.begun().column("mask", column); err != nil {
			return nil, err
		}
	}
	if err := in.use([]int{c}, nil); err != nil {
		return nil, err
	}
	var mask []bool
	for {
		if err := in.next(); err == io.EOF {
			break
		} else if err != nil {
			return nil, err
		}
		v, ok := in.number(c)
		if !ok || v != 0 && v != 1 {
			return nil, in.errorAt(c, notInMask(in, c))
		}
		mask = append(mask, v == 1)
	}
	if len(mask) == 0 {
		return nil, in.noRows()
	}
	return mask, nil
}

// notInMask says what is wrong with a value that is neither 0 nor 1.
func notInMask(in source, c int) string {
	label := in.label(c)
	if label == "" {
		return "empty cell in a mask"
	}
	return "not 0 or 1 in a mask: " + quote(label)
}

// SelectMask is the mask read from path for the rows of t, some of which were left
// out when it was read. The error is an [*Error] if the mask is not one for t's
// source.
func SelectMask(path string, mask []bool, t *Table) ([]bool, error) {
	if len(mask) != t.SourceRows {
		return nil, &Error{Source: path, Msg: fmt.Sprintf("the mask has %s, the table %d", count(len(mask), "row"), t.SourceRows)}
	}
	if t.Row == nil {
		return mask, nil
	}
	selected := make([]bool, t.N)
	for i, row := range t.Row {
		selected[i] = mask[row]
	}
	return selected, nil
}

// ParseMaskFlag takes apart FILE or FILE:COLUMN, with COLUMN as [ReadMask] takes
// it. If there is a file of the whole name, colon and all, that file is meant.
func ParseMaskFlag(s string) (path, column string, err error) {
	if s == "" {
		return "", "", fmt.Errorf("mask: no file named")
	}
	if info, err := os.Stat(s); err == nil && !info.IsDir() {
		return s, "", nil
	}
	i := strings.LastIndexByte(s, ':')
	if i < 0 {
		return s, "", nil
	}
	path, column = s[:i], s[i+1:]
	if path == "" {
		return "", "", fmt.Errorf("mask %q: no file named before the colon", s)
	}
	if column == "" {
		return "", "", fmt.Errorf("mask %q: no column named after the colon", s)
	}
	return path, column, nil
}
