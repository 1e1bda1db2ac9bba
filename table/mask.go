package table

import (
	"fmt"
	"io"
	"os"
	"strings"

	"gpfit/internal/matrixrows"
	"gpfit/internal/textform"
)

// ReadMask reads a split mask: one column of the table at path, whose cells are all 0 or 1 (or
// false or true). It ignores the other columns. column is a name or an index, as in [Options]; ""
// is the first column. Of opts, only how to read a file counts, not which columns. Errors are of type [*Error]. The caller must check that the mask
// has as many rows as the table it splits.
func ReadMask(path, column string, opts Options) ([]bool, error) {
	opts = Options{Header: opts.Header, Text: opts.Text, SkipLines: opts.SkipLines, Formats: opts.Formats}
	if err := opts.check(); err != nil {
		return nil, err
	}
	in, err := openPath(path, opts)
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
			e := in.errorAt(c, "empty cell in a mask")
			if label := in.label(c); label != "" {
				e.Msg = "not 0 or 1 in a mask: " + quote(label)
			}
			if column == "" && len(in.begun().names) > 1 {
				e.Msg += "; the first column is the mask unless FILE:COLUMN names another"
			}
			return nil, e
		}
		mask = append(mask, v == 1)
	}
	if len(mask) == 0 {
		return nil, in.noRows()
	}
	return mask, nil
}

// SelectMask returns the part of a mask read from path for the rows of t, which may lack some rows
// of its source. The error is an [*Error] if the mask does not suit t's source.
func SelectMask(path string, mask []bool, t *Table) ([]bool, error) {
	if len(mask) != t.SourceRows {
		return nil, &Error{Source: path, Msg: fmt.Sprintf("the mask has %s, but the table has %d", textform.Counted(len(mask), "row"), t.SourceRows)}
	}
	if t.Row == nil {
		return mask, nil
	}
	return matrixrows.Values(mask, t.Row), nil
}

// ParseMaskFlag splits FILE or FILE:COLUMN, with COLUMN as in [ReadMask]. If a file
// has the whole name, including the colon, s means that file.
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
