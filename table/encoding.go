package table

import (
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
	case "", "utf-8", "utf8", "utf-8-sig", "ascii", "us-ascii": // the web reads ASCII as windows-1252
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

// decoding returns how to decode text that begins so: by a byte order mark, of the length mark, or by the
// encoding of the option. decoder is nil and name is "" for UTF-8.
func decoding(begin []byte, option string) (decoder *encoding.Decoder, name string, mark int) {
	utf16 := func(order unicode.Endianness) *encoding.Decoder {
		return unicode.UTF16(order, unicode.IgnoreBOM).NewDecoder()
	}
	switch {
	case bytes.HasPrefix(begin, []byte("\xef\xbb\xbf")):
		return nil, "", 3
	case bytes.HasPrefix(begin, []byte("\xff\xfe")):
		return utf16(unicode.LittleEndian), "UTF-16", 2
	case bytes.HasPrefix(begin, []byte("\xfe\xff")):
		return utf16(unicode.BigEndian), "UTF-16", 2
	}
	from, _ := textEncoding(option) // check has checked it
	if from == nil {
		return nil, "", 0
	}
	return from.NewDecoder(), option, 0
}

// isText reports whether all bytes of a text were text before it was decoded from an encoding, "" for
// UTF-8.
func isText(b []byte, decoded string) bool {
	if decoded != "" {
		return !bytes.Contains(b, []byte(replacement))
	}
	return utf8.Valid(b)
}

// notText describes the error in a cell that is no text, and says how to read it.
func notText(cell []byte, decoded string) string {
	if decoded != "" {
		return fmt.Sprintf("%s has bytes that are no text in the encoding %s: option encoding names the right one", quote(string(cell)), decoded)
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

// readings shows a cell in the two encodings that are the most frequent after UTF-8, of languages
// with Latin and with Cyrillic letters.
func readings(cell []byte) string {
	if len(cell) == 0 || len(cell) > 40 {
		return ", such as windows-1252"
	}
	west, _ := charmap.Windows1252.NewDecoder().Bytes(cell) // a byte that has no letter becomes U+FFFD
	east, _ := charmap.Windows1251.NewDecoder().Bytes(cell)
	return fmt.Sprintf(", such as windows-1252, which reads this as %s, or windows-1251, which reads it as %s", quote(string(west)), quote(string(east)))
}
