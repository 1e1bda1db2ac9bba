package table

import "bytes"

// sniffRecords is the number of records from which the separator is guessed.
const sniffRecords = 8

// shape counts the possible separators in one record, outside quotes.
type shape struct {
	semicolons, commas, tabs int
	fields                   int // cells if runs of blanks separate them
}

// guessSeparator guesses the cell separator from the beginning of a text, nil for
// blanks. atEnd says that the sample is the whole text, decimalComma that commas are
// decimal signs. guessSeparator prefers a
// character that occurs equally often in each of the first records: semicolons, then
// commas (which are decimal signs if semicolons separate), tabs, blanks. In a ragged
// file, the first row of data decides.
func guessSeparator(sample []byte, atEnd, decimalComma bool) []byte {
	shapes := measureRecords(sample, atEnd)
	only := byte(',') // of a file with one column
	if decimalComma {
		only = ';'
		for i := range shapes {
			shapes[i].commas = 0
		}
	}
	if len(shapes) == 0 {
		return []byte{only}
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
	}
	for _, c := range candidates {
		if regular(c.count) {
			return []byte{c.sep}
		}
	}
	if data.semicolons == 0 && data.commas == 0 && first.fields >= 2 && data.fields >= 2 {
		fields := func(sh shape) int { return sh.fields }
		if data.tabs == 0 || regular(fields) {
			return nil
		}
	}
	for _, sh := range []shape{data, first} {
		for _, c := range candidates {
			if c.count(sh) > 0 {
				return []byte{c.sep}
			}
		}
	}
	return []byte{only}
}

// measureRecords returns the shapes of the first records of a text, without comments
// and blank lines. It leaves out a last record that the sample cuts off, unless that
// is the only one.
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
