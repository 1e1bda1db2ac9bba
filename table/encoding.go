package table

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/htmlindex"
	"golang.org/x/text/encoding/ianaindex"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"
)

// replacement is the character that decoders write for bytes that are no text.
const replacement = "\uFFFD"

// codePage matches Python's names of code pages.
var codePage = regexp.MustCompile(`^cp-?(\d+)$`)

// CheckTextEncoding returns an error unless the name is one of an encoding of text: a name that
// IANA or the web has for it, or Python's. It may be empty.
func CheckTextEncoding(name string) error {
	_, err := textEncoding(name)
	return err
}

// textEncoding returns the encoding of that name, nil for UTF-8.
func textEncoding(name string) (encoding.Encoding, error) {
	plain := strings.ReplaceAll(strings.ToLower(strings.TrimSpace(name)), "_", "-")
	switch plain {
	case "", "utf-8", "utf8", "utf-8-sig":
		return nil, nil
	case "utf-16", "utf16":
		return nil, errors.New("text with a byte order mark needs no option; of other text, say utf-16le or utf-16be")
	case "latin-1":
		plain = "iso-8859-1"
	case "mac-roman":
		plain = "macintosh"
	}
	plain = strings.Replace(plain, "utf-16-", "utf-16", 1)
	names := []string{plain, strings.ReplaceAll(plain, "-", "_")}
	if page := codePage.FindStringSubmatch(plain); page != nil {
		names = append(names, "windows-"+page[1], "ibm"+page[1])
	}
	for _, n := range names {
		if e, err := ianaindex.IANA.Encoding(n); err == nil && e != nil {
			return e, nil
		}
		if e, err := htmlindex.Get(n); err == nil {
			return e, nil
		}
	}
	return nil, errors.New("must be the name of an encoding, such as utf-8, windows-1252, iso-8859-1, windows-1251, koi8-r, shift_jis, gb18030 or utf-16le")
}

// decode makes in read UTF-8: text with a byte order mark by that, other text by the option. It
// skips the mark.
func (s *scanner) decode(opts Options) {
	from, _ := textEncoding(opts.TextEncoding) // check has checked it
	s.decoded = opts.TextEncoding
	begin, _ := s.in.Peek(4)
	for _, mark := range []struct {
		bytes, name string
		encoding    encoding.Encoding
	}{
		{"\xef\xbb\xbf", "", nil},
		{"\xff\xfe", "UTF-16", unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM)},
		{"\xfe\xff", "UTF-16", unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM)},
	} {
		if bytes.HasPrefix(begin, []byte(mark.bytes)) {
			_, _ = s.in.Discard(len(mark.bytes)) // they are in the buffer
			from, s.decoded = mark.encoding, mark.name
			break
		}
	}
	if from == nil {
		s.decoded = ""
		return
	}
	s.in = bufio.NewReaderSize(&sticky{r: transform.NewReader(s.in, from.NewDecoder())}, bufferSize)
}

// isText reports whether all bytes of a line were text in the encoding of the file.
func (s *scanner) isText(b []byte) bool {
	if s.decoded != "" {
		return !bytes.Contains(b, []byte(replacement))
	}
	return utf8.Valid(b)
}

// badText returns the error for the current record, which has bytes that are no text.
func (s *scanner) badText() *Error {
	for c, cell := range s.cells {
		if !s.isText(cell) {
			return &Error{Source: s.source, Line: s.lineOf(c), Column: c + 1, Msg: s.notText(cell)}
		}
	}
	return &Error{Source: s.source, Line: s.bad, Msg: s.notText(nil)}
}

// notText describes the error in a cell that is no text, and says how to read it.
func (s *scanner) notText(cell []byte) string {
	if s.decoded != "" {
		return fmt.Sprintf("%s has bytes that are no text in the encoding %s: option encoding names the right one", quote(string(cell)), s.decoded)
	}
	return notUTF8(cell) + ": option encoding names the encoding of the file" + readings(cell)
}

// notUTF8 names the first bytes of a text that are not UTF-8.
func notUTF8(b []byte) string {
	var wrong []byte
	for i := 0; i < len(b) && len(wrong) < 4; {
		r, size := utf8.DecodeRune(b[i:])
		if r == utf8.RuneError && size <= 1 {
			wrong = append(wrong, b[i])
		} else if len(wrong) > 0 {
			break
		}
		i += size
	}
	if len(wrong) == 0 {
		return "the line has bytes that are not UTF-8"
	}
	return fmt.Sprintf("%s has bytes that are not UTF-8 (% x)", quote(string(b)), wrong)
}

// readings shows a cell in the two encodings that are the most frequent beside UTF-8, of languages
// with Latin and with Cyrillic letters.
func readings(cell []byte) string {
	if len(cell) == 0 || len(cell) > 40 {
		return ", such as windows-1252"
	}
	west, _ := charmap.Windows1252.NewDecoder().Bytes(cell) // a byte that has no letter becomes U+FFFD
	east, _ := charmap.Windows1251.NewDecoder().Bytes(cell)
	return fmt.Sprintf(", such as windows-1252, which reads this as %s, or windows-1251, which reads it as %s", quote(string(west)), quote(string(east)))
}
