package table

import (
	"cmp"
	"fmt"
	"slices"

	"gpfit/internal/hostmem"
	"gpfit/table/feature"
)

// learnedCells finds out, while it reads a training table, how to read a column. Labels
// become their numbers in order of appearance, which finish replaces.
type learnedCells struct {
	name  string
	asked feature.ColumnKind // the kind that the rules name; empty if none
	rules *feature.Rules
	// kind is Number, Category (booleans included), Date or Clock; empty before the first
	// value. firstText and firstAt are that value and its place.
	kind      feature.ColumnKind
	firstText string
	firstAt   int
	encoder   *feature.Encoder // of dates and times of day
	codes     map[string]int
	labels    []string // by code
	booleans  bool     // all labels are booleans
}

// mostCategories limits the memory of the labels of a column.
const mostCategories = 1 << 16

func (l *learnedCells) text(typed feature.ColumnKind) bool {
	switch l.asked {
	case feature.Category, feature.Date:
		return true
	case feature.Number:
		return typed == feature.Category
	}
	return typed == feature.Category || typed == feature.Date || typed == feature.Clock
}

func (l *learnedCells) read(src source, c int) (float64, *fault) {
	if l.asked == feature.Number {
		l.kind = feature.Number
		return numberOf(src, c)
	}
	typed := src.kind(c)
	mayBeNumber := l.asked == "" && (typed == "" || typed == feature.Number)
	if mayBeNumber {
		if v, ok := src.number(c); ok {
			return v, l.settle(feature.Number, src, c)
		}
	}
	text := cellText(src, c)
	switch {
	case (src.missing(c) || text == "") && l.kind == feature.Number:
		return 0, &fault{gap: true}
	case text == "" || src.missing(c) && !(l.asked == feature.Category && (typed == "" || typed == feature.Category)): // none or NA may be a category
		return 0, noLabel(src, c)
	}
	broken := brokenNumber(text) || l.kind == "" && unfinishedExponent(text)
	if mayBeNumber && (l.kind == feature.Number || typed == feature.Number || broken && feature.Recognize(text) == feature.Category && !feature.UnclearDate(text)) {
		return 0, &fault{msg: src.badCell(c).Msg + "; name the column in option categories if it has categories"}
	}
	return l.readText(src, c, text)
}

// readText reads a text that is not a number.
func (l *learnedCells) readText(src source, c int, text string) (float64, *fault) {
	if k, known := l.codes[text]; known {
		return float64(k), nil
	}
	if l.encoder != nil {
		if v, err := l.encoder.Value(text); err == nil {
			return v, nil
		}
	}
	form := l.asked
	if form != feature.Category {
		form = feature.Recognize(text)
	}
	if form == feature.Boolean {
		form = feature.Category // as long as not all are known
	}
	if form == feature.Category && (l.asked == feature.Date || l.asked == "" && feature.UnclearDate(text)) {
		form = feature.Date // which says what is wrong with the text
	}
	if f := l.settle(form, src, c); f != nil {
		return 0, f
	}
	if form == feature.Category {
		return l.addLabel(text)
	}
	v, err := l.encoder.Value(text)
	if err != nil {
		return 0, &fault{msg: err.Error() + l.hint("; name the column in option categories if it has categories")}
	}
	return v, nil
}

// settle decides that the column has the kind of its first value, and returns a fault
// for a value of another kind.
func (l *learnedCells) settle(kind feature.ColumnKind, src source, c int) *fault {
	if l.kind == kind {
		return nil
	}
	if l.kind == "" {
		if kind == feature.Date || kind == feature.Clock {
			as := l.made(kind)
			encoder, err := as.Encoder()
			if err != nil {
				return &fault{msg: err.Error()}
			}
			l.encoder = encoder
		}
		l.kind, l.firstText, l.firstAt = kind, cellText(src, c), src.place()
		return nil
	}
	return &fault{msg: fmt.Sprintf("%s is a %s, but the column has a %s before (%s in %s)%s",
		quote(cellText(src, c)), word(kind), word(l.kind), quote(l.firstText), placeText(src, l.firstAt), l.hint("; name it in option categories to read all of it as categories"))}
}

// hint returns text unless the rules name the kind of the column.
func (l *learnedCells) hint(text string) string {
	if l.asked != "" {
		return ""
	}
	return text
}

// word returns the word for a value of a kind.
func word(kind feature.ColumnKind) string {
	if kind == feature.Category {
		return "text"
	}
	return string(kind)
}

// placeText names a line, or a row in formats without lines.
func placeText(src source, at int) string {
	if src.begun().first > 0 {
		return fmt.Sprintf("line %d", at)
	}
	return fmt.Sprintf("row %d", at)
}

func (l *learnedCells) addLabel(text string) (float64, *fault) {
	if l.codes == nil {
		l.codes, l.booleans = map[string]int{}, l.asked == ""
	}
	if len(l.labels) == mostCategories {
		return 0, &fault{msg: fmt.Sprintf("the column has more than %d different texts: it identifies rows; leave it out with option exclude", mostCategories)}
	}
	_, boolean := feature.ParseBoolean(text)
	l.booleans = l.booleans && boolean
	l.codes[text] = len(l.labels)
	l.labels = append(l.labels, text)
	return float64(len(l.labels) - 1), nil
}

// made returns the column for a kind other than Category.
func (l *learnedCells) made(kind feature.ColumnKind) feature.Coding {
	as := feature.Coding{Name: l.name, Kind: kind}
	if kind == feature.Date || kind == feature.Clock {
		as.Unit = cmp.Or(l.rules.Unit, feature.Days)
	}
	if kind == feature.Date {
		as.Origin, as.Order = cmp.Or(l.rules.Origin, feature.DefaultOrigin), l.rules.Order
	}
	return as
}

// finish returns the column for the given codes, which it replaces by the column's values: every
// stride-th number of x from at on. msg says what is wrong with the column, if anything.
func (l *learnedCells) finish(x []float64, at, stride int) (as feature.Coding, msg string) {
	if l.kind != feature.Category {
		return l.made(l.kind), ""
	}
	rows := len(x) / stride
	used := make([]bool, len(l.labels))
	for i := at; i < len(x); i += stride {
		used[int(x[i])] = true
	}
	values := make([]float64, len(l.labels))
	if l.booleans {
		as = l.made(feature.Boolean)
		for k, label := range l.labels {
			values[k], _ = feature.ParseBoolean(label)
		}
	} else {
		as = feature.Coding{Name: l.name, Kind: feature.Category, Codes: l.rules.Codes}
		for k, label := range l.labels {
			if used[k] {
				as.Categories = append(as.Categories, label)
			}
		}
		feature.Sort(as.Categories)
		for code, label := range as.Categories {
			values[l.codes[label]] = float64(code)
		}
		msg = l.identifies(len(as.Categories), rows)
	}
	for i := at; i < len(x); i += stride {
		x[i] = values[int(x[i])]
	}
	return as, msg
}

// identifies says that a column with this number of categories identifies rows, "" if it does
// not. A column that the rules name may have more of them.
func (l *learnedCells) identifies(categories, rows int) string {
	switch {
	case categories == rows && rows > 1:
		return fmt.Sprintf("each of the %d rows has another text, such as %s: the column identifies rows and says nothing of others; leave it out with option exclude", rows, quote(l.firstText))
	case l.asked == "" && 2*categories > rows && rows > 1:
		return fmt.Sprintf("%d different texts in %d rows, such as %s: the column seems to identify rows; leave it out with option exclude, or name it in option categories", categories, rows, quote(l.firstText))
	}
	return ""
}

// encode replaces what the rows of t gave for each of the columns, which are the given features
// of the table, by their features, and sets t.Encoding.
func (in *head) encode(t *Table, columns []cells, features []int, opts Options) error {
	encoding := &feature.Encoding{Text: opts.Text}
	if encoding.Decimal == "." {
		encoding.Decimal = ""
	}
	for i, reader := range columns {
		as, msg := reader.(*learnedCells).finish(t.X, i, t.D)
		if msg != "" {
			return in.headError(features[i], msg)
		}
		encoding.Columns = append(encoding.Columns, as)
	}
	if encoding.AsIs() {
		return nil
	}
	t.Encoding = encoding
	return in.expand(t, features)
}

// expand makes indicator columns of the codes of categories.
func (in *head) expand(t *Table, features []int) error {
	names := t.Encoding.Features()
	from := map[string]string{}
	for i := range t.Encoding.Columns {
		c := &t.Encoding.Columns[i]
		for _, name := range c.Features() {
			if other, twice := from[name]; twice && other != c.Name {
				return in.headError(features[i], fmt.Sprintf("two features would be called %s, of the columns %s and %s: rename a column", quote(name), quote(other), quote(c.Name)))
			}
			from[name] = c.Name
		}
	}
	t.FeatureNames = names
	if !slices.ContainsFunc(t.Encoding.Columns, func(c feature.Coding) bool { return c.Kind == feature.Category && !c.Codes }) {
		return nil
	}
	if need, free := int64(8*t.N)*int64(len(names)), hostmem.Free(); free > 0 && need > little && need > free {
		return tooLarge(t.Source, need, free)
	}
	x := make([]float64, 0, t.N*len(names))
	for i := range t.N {
		for q := range t.Encoding.Columns {
			x = t.Encoding.Columns[q].Append(x, t.X[i*t.D+q])
		}
	}
	t.X, t.D = x, len(names)
	return nil
}

// askedKinds returns the kinds that the rules name for columns, which must be features.
func (in *head) askedKinds(rules *feature.Rules, features []int) (map[int]feature.ColumnKind, error) {
	asked := map[int]feature.ColumnKind{}
	for _, list := range []struct {
		option string
		kind   feature.ColumnKind
		specs  []string
	}{{"categories", feature.Category, rules.Categories}, {"dates", feature.Date, rules.Dates}, {"numbers", feature.Number, rules.Numbers}} {
		for _, spec := range list.specs {
			columns, err := in.columnsOf("feature", spec)
			if err != nil {
				return nil, err
			}
			for _, c := range columns {
				switch {
				case !slices.Contains(features, c):
					return nil, in.headError(c, fmt.Sprintf("option %s names %s, which is not a feature", list.option, quote(spec)))
				case asked[c] != "":
					return nil, in.headError(c, fmt.Sprintf("option %s names %s, which another kind is asked for", list.option, quote(spec)))
				}
				asked[c] = list.kind
			}
		}
	}
	return asked, nil
}

// little is the number of bytes that a table may take without a check of the memory.
const little = 16 << 20
