package table

import (
	"bufio"
	"bytes"
	"compress/bzip2"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"regexp"

	"github.com/klauspost/compress/zstd"
	"golang.org/x/text/transform"

	"gpfit/internal/userfile"
)

// bufferSize is the size of the read buffer. Lines up to this length are split in
// place. The separator is guessed from the first buffer.
const bufferSize = 256 << 10

// openFile opens a file for reading. Its errors are of type [*Error].
func openFile(path string) (*os.File, error) {
	f, err := userfile.Stream(path)
	if err == nil {
		var info os.FileInfo
		if info, err = f.Stat(); err == nil && !info.IsDir() {
			return f, nil
		}
		f.Close()
		if err == nil {
			return nil, &Error{Source: path, Msg: "is a directory, not a file"}
		}
	}
	e := &Error{Source: path, Msg: err.Error(), Err: err}
	if pathErr, ok := errors.AsType[*os.PathError](err); ok {
		e.Msg = pathErr.Err.Error()
	}
	return nil, e
}

// foreign holds the first bytes of files that are not text, with the error for each.
var foreign = []struct{ magic, msg string }{
	{zipMagic, "this is a zip archive (Excel workbooks are, too), not text; give an archive of one table by name, or export the workbook as CSV"},
	{"\xfd7zXZ\x00", "this is xz-compressed: xz -dc prints the text, which gpfit reads as the table -"},
	{parquetMagic, "this is a Parquet file, not text; give such a file by name and uncompressed"},
	{arrowMagic, "this is an Arrow file, not text; give such a file by name and uncompressed"},
	{"FEA1", "this is a Feather file of version 1; write version 2, which is an Arrow file"},
	{"\xff\xff\xff\xff", "this looks like an Arrow stream, not text; give such a file by name and uncompressed"},
	{npyMagic, "this is a NumPy file, not text; give such a file by name and uncompressed"},
	{"\x89HDF\r\n", "this is an HDF5 file, not text; write Parquet or CSV"},
	{"ORC", "this is an ORC file, not text; write Parquet or CSV"},
	{"\xd0\xcf\x11\xe0", "this is an old Excel workbook, not text; export it as CSV"},
	{"\x80\x04\x95", "this is a pickle of Python, not text; write Parquet or CSV"},
	{"\x80\x05\x95", "this is a pickle of Python, not text; write Parquet or CSV"},
	{"<stata_dta>", "this is a Stata file, not text; write Parquet or CSV"},
	{"\xff\xfe\x00\x00", "this is UTF-32 text; save it as UTF-8"},
	{"\x00\x00\xfe\xff", "this is UTF-32 text; save it as UTF-8"},
}

// unpack returns the form and the reader of a compressed text by its first bytes, "" if it is not compressed.
func unpack(in *bufio.Reader) (form string, text io.Reader, err error) {
	head, _ := in.Peek(10)
	switch {
	case bytes.HasPrefix(head, []byte{0x1f, 0x8b}):
		text, err = gzip.NewReader(in)
		return "gzip", text, err
	case bytes.HasPrefix(head, []byte("\x28\xb5\x2f\xfd")):
		text, err = zstd.NewReader(in, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxRecord))
		return "zstd", text, err
	case len(head) == 10 && bytes.HasPrefix(head, []byte("BZh")) && bytes.HasSuffix(head, []byte("1AY&SY")):
		return "bzip2", bzip2.NewReader(in), nil
	}
	return "", in, nil
}

// newScanner prepares r for reading records: it unpacks compressed text, decodes text that is not UTF-8, and finds or guesses the
// separator.
func newScanner(r io.Reader, source string, opts Options) (*scanner, error) {
	s := &scanner{source: source, raw: counter{r: r}, skip: opts.skip}
	s.in = bufio.NewReaderSize(&sticky{r: &s.raw}, bufferSize)
	packed, text, err := unpack(s.in)
	if s.packed = packed; err != nil {
		return nil, s.readError(err)
	}
	if packed != "" {
		s.in = bufio.NewReaderSize(&sticky{r: text}, bufferSize)
	}
	head, _ := s.in.Peek(bufferSize)
	for _, f := range foreign {
		if bytes.HasPrefix(head, []byte(f.magic)) {
			return nil, &Error{Source: source, Msg: f.msg}
		}
	}
	begin, _ := s.in.Peek(4)
	decoder, name, mark := decoding(begin, opts.Text.TextEncoding)
	_, _ = s.in.Discard(mark) // it is in the buffer
	if s.decoded = name; decoder != nil {
		s.in = bufio.NewReaderSize(&sticky{r: transform.NewReader(s.in, decoder)}, bufferSize)
	}
	head, err = s.in.Peek(bufferSize)
	if bytes.IndexByte(head, '\r') >= 0 && bytes.IndexByte(head, '\n') < 0 {
		s.in, s.returns = bufio.NewReaderSize(&sticky{r: carriageReturns{s.in}}, bufferSize), true
		head, err = s.in.Peek(bufferSize)
	}
	// ReadSlice returns Peek's errors again, because the reader is sticky.
	if line := namedSeparator.Find(head); line != nil {
		s.sep, s.line = line[len("sep=")], 1
		_, _ = s.in.Discard(len(line)) // it is in the buffer
		return s, nil
	}
	s.sep = guessSeparator(s.kept(head), err != nil, opts.Text.Decimal == ",")
	return s, nil
}

// kept returns a text without the lines to skip.
func (s *scanner) kept(text []byte) []byte {
	if len(s.skip) == 0 {
		return text
	}
	var out []byte
	for line := range bytes.Lines(text) {
		if s.line++; !s.skip[s.line] {
			out = append(out, line...)
		}
	}
	s.line = 0
	return out
}

// namedSeparator matches the line by which Excel names the separator of a file.
var namedSeparator = regexp.MustCompile(`^(?i:sep)=[,;|\t]\r?\n`)

// carriageReturns reads text whose lines end in carriage returns, with line feeds in their place.
type carriageReturns struct{ r io.Reader }

func (c carriageReturns) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	for i, b := range p[:n] {
		if b == '\r' {
			p[i] = '\n'
		}
	}
	return n, err
}

// The beginnings of every file of these formats. Packages table/formats/internal/parquet and
// table/formats/internal/arrow read the last two.
const (
	zipMagic     = "PK\x03\x04"
	parquetMagic = "PAR1"
	arrowMagic   = "ARROW1"
)

// sniffRecords is the number of records from which the separator is guessed.
const sniffRecords = 8

// shape counts the possible separators in one record, outside quotes.
type shape struct {
	semicolons, commas, tabs, bars int
	fields                         int // cells if runs of blanks separate them
}

// guessSeparator guesses the cell separator from the beginning of a text, 0 for blanks. atEnd says
// that the sample is the whole text, decimalComma that commas are decimal signs. guessSeparator
// prefers a character that occurs equally often in each of the first records: semicolons, then
// commas (which are decimal signs if semicolons separate), tabs, bars, blanks. In a ragged file, the
// first row of data decides.
func guessSeparator(sample []byte, atEnd, decimalComma bool) byte {
	shapes := measureRecords(sample, atEnd)
	only := byte(',') // of a file with one column
	if decimalComma {
		only = ';'
		for i := range shapes {
			shapes[i].commas = 0
		}
	}
	if len(shapes) == 0 {
		return only
	}
	first, data := shapes[0], shapes[min(1, len(shapes)-1)]
	regular := func(count func(shape) int) bool {
		for _, sh := range shapes {
			if count(sh) != count(first) {
				return false
			}
		}
		return count(first) > 0
	}
	candidates := []struct {
		sep   byte
		count func(shape) int
	}{
		{';', func(sh shape) int { return sh.semicolons }},
		{',', func(sh shape) int { return sh.commas }},
		{'\t', func(sh shape) int { return sh.tabs }},
		{'|', func(sh shape) int { return sh.bars }},
	}
	for _, c := range candidates {
		if regular(c.count) {
			return c.sep
		}
	}
	if data.semicolons == 0 && data.commas == 0 && first.fields >= 2 && data.fields >= 2 {
		fields := func(sh shape) int { return sh.fields }
		if data.tabs == 0 || regular(fields) {
			return 0
		}
	}
	for _, sh := range []shape{data, first} {
		for _, c := range candidates {
			if c.count(sh) > 0 {
				return c.sep
			}
		}
	}
	return only
}

// measureRecords returns the shapes of the first records of a text, without comments and blank
// lines. It leaves out a last record that the sample cuts off, unless that is the only one.
func measureRecords(sample []byte, atEnd bool) []shape {
	var shapes []shape
	for len(sample) > 0 && len(shapes) < sniffRecords {
		line, rest, _ := bytes.Cut(sample, []byte{'\n'})
		if bare := bytes.TrimSuffix(line, []byte{'\r'}); len(trim(bare)) == 0 || isComment(bare) {
			sample = rest
			continue
		}
		sh, size, complete := measure(sample)
		if !complete && !atEnd && len(shapes) > 0 {
			break
		}
		shapes = append(shapes, sh)
		sample = sample[size:]
	}
	return shapes
}

// measure returns the shape of the record at the beginning of text, its length in
// bytes and whether text contains its end.
func measure(text []byte) (sh shape, size int, complete bool) {
	quoted, inField := false, false
	for i, c := range text {
		if c == '"' {
			quoted = !quoted
		}
		if !quoted {
			switch c {
			case '\n':
				return sh, i + 1, true
			case ';':
				sh.semicolons++
			case ',':
				sh.commas++
			case '\t':
				sh.tabs++
			case '|':
				sh.bars++
			}
		}
		if space := !quoted && (isSpace(c) || c == '\r'); space {
			inField = false
		} else if !inField {
			inField = true
			sh.fields++
		}
	}
	return sh, len(text), false
}
