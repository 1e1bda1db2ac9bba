package option

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"

	"gpfit/fit"
	"gpfit/internal/suggest"
	"gpfit/internal/textform"
)

// Spec is the place of options that a batch spec takes. The other places are
// commands, by their names: "fit", "kernel check".
const Spec = "spec"

// Group is the heading of an option in help texts.
type Group string

// The groups, in the order in which help texts show them.
const (
	Kernels    Group = "Kernels"
	Data       Group = "Data"
	Model      Group = "Model"
	Noise      Group = "Noise"
	Parameters Group = "Parameters"
	Tuning     Group = "Tuning"
	Scores     Group = "Scores"
	Draws      Group = "Draws"
	OutputFile Group = "Output"
	Device     Group = "Device"
	Jobs       Group = "Jobs"
)

// Groups returns all groups, in order.
func Groups() []Group {
	return []Group{Kernels, Data, Model, Noise, Parameters, Tuning, Scores, Draws, OutputFile, Device, Jobs}
}

// Option is one entry of the table.
type Option struct {
	// Name is the name, with hyphens: the flag is --Name, the variable is
	// GPFIT_NAME, and the key of a spec is the name with underscores.
	Name  string
	Kind  ValueKind
	Group Group
	// Default is the default as a text; "" if there is none. Unset says in words
	// what happens by default, where that says more.
	Default, Unset string
	// Unit is the unit of numbers.
	Unit string
	// Placeholder stands for the value in help texts, such as "FILE".
	Placeholder string
	// Help says what the option does. It begins with a lower-case letter.
	Help string
	// Words are the words that a word or a list of words takes. SpecWords are those
	// that a batch spec takes, where they are fewer.
	Words, SpecWords []string
	// Least and Most bound a whole number; Most is 0 for no bound.
	Least, Most int
	// Examples are words that the shell offers, beside which there are others.
	Examples []string
	// Places are the commands that take the option, and Spec.
	Places []string
	// NoVariable says that there is no variable: another command has an option of
	// the same name that means something else.
	NoVariable bool
	// Stated says that the resolved options of a batch state the default.
	Stated bool
	// Single says why a batch spec takes one name and no list with commas.
	Single string
	// check finds mistakes in a value beyond kind, words and range; nil for none.
	check func(value any) error
	// Assign puts a value, of the type that the kind has, into its field.
	Assign func(v *Values, value any)
}

// Key is the key in a batch spec.
func (o *Option) Key() string { return strings.ReplaceAll(o.Name, "-", "_") }

// Variable is the name of the environment variable; "" if there is none.
func (o *Option) Variable() string {
	if o.NoVariable || slices.Equal(o.Places, []string{Spec}) {
		return ""
	}
	return Variable(o.Name)
}

// Variable is the environment variable of a flag.
func Variable(name string) string {
	return "GPFIT_" + strings.ToUpper(strings.ReplaceAll(name, "-", "_"))
}

// In says whether a place takes the option.
func (o *Option) In(place string) bool { return slices.Contains(o.Places, place) }

// ValueKind is how the values of an option are written and what type they have.
type ValueKind struct {
	// Name is what documentation calls it.
	Name string
	// Go is the type of the field in a batch spec, "" if a spec has none.
	Go string
	// Flag says that the name alone means true.
	Flag bool
	// Repeats says that each item adds to the value.
	Repeats bool
	// Columns says that values are columns of DATA, and Named that items have
	// names.
	Columns, Named bool
	split          func(text string) ([]Item, error)
	read           func(o *Option, e Item) (any, error)
}

// add appends to a list, and replaces everything else.
func (k ValueKind) add(before, value any) any {
	if before == nil || !k.Repeats {
		return value
	}
	return reflect.AppendSlice(reflect.ValueOf(before), reflect.ValueOf(value)).Interface()
}

// Item is one value, or one item of a list or a map.
type Item struct {
	// Name is the name of a map's item; empty for other kinds.
	Name string
	// Value is the text of the value. Given is false for an item without one.
	Value string
	Given bool
}

// Read reads a text of the command line or of a variable, which may hold several
// items. before is the value so far, nil for none. Errors: [*fit.OptionError], and
// those of the text forms of kernels, means and priors.
func (o *Option) Read(before any, text string) (any, error) {
	items, err := o.Kind.split(text)
	if err != nil {
		return nil, o.wrong(text, "%v", err)
	}
	if len(items) == 0 {
		return before, nil
	}
	for _, e := range items {
		if before, err = o.ReadItem(before, e); err != nil {
			return nil, err
		}
	}
	return before, nil
}

// ReadItem reads one item and adds it to the value so far, which is nil for none.
// The errors are those of [Option.Read].
func (o *Option) ReadItem(before any, e Item) (any, error) {
	value, err := o.Kind.read(o, e)
	if err != nil {
		return nil, err
	}
	if o.check != nil {
		err := o.check(value)
		var form *textform.Error
		if errors.As(err, &form) {
			return nil, err // it shows the text, with a mark
		}
		if err != nil {
			return nil, o.wrong(e.Value, "%v", err)
		}
	}
	return o.Kind.add(before, value), nil
}

func (o *Option) wrong(value, format string, args ...any) error {
	return &fit.OptionError{Option: o.Name, Value: value, Msg: fmt.Sprintf(format, args...)}
}

func (o *Option) checkWord(word string) error {
	if o.Words == nil || slices.Contains(o.Words, word) {
		return nil
	}
	return o.wrong(textform.Quote(word), "must be %s%s", OrList(o.Words), suggest.DidYouMean(word, o.Words))
}

func (o *Option) checkRange(n int) error {
	switch last := o.last(); {
	case o.Least <= n && n <= last:
		return nil
	case n < 0 && o.Least == 0 && !o.Bounded():
		return o.wrong(fmt.Sprint(n), "must not be negative")
	default:
		return o.wrong(fmt.Sprint(n), "must be from %d to %d", o.Least, last)
	}
}

// Bounded says whether a whole number has an upper bound that users should know.
func (o *Option) Bounded() bool { return o.Most > 0 }

// last is the largest whole number that the option takes.
func (o *Option) last() int {
	if o.Most == 0 {
		return math.MaxInt
	}
	return o.Most
}

// OrList is "a, b or c".
func OrList(words []string) string {
	last := len(words) - 1
	if last < 1 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

// Options is a list of options.
type Options []Option

// For returns the options that a place takes.
func (t Options) For(place string) Options {
	var out Options
	for _, o := range t {
		if o.In(place) {
			out = append(out, o)
		}
	}
	return out
}

// Find returns the option of a name that a place takes; nil if there is none.
func (t Options) Find(name, place string) *Option {
	i := slices.IndexFunc(t, func(o Option) bool { return o.Name == name && o.In(place) })
	if i < 0 {
		return nil
	}
	return &t[i]
}

// Has says whether an option has the name, in any place.
func (t Options) Has(name string) bool {
	return slices.ContainsFunc(t, func(o Option) bool { return o.Name == name })
}

// Assign puts the values that are given, by name, into their fields.
func (t Options) Assign(v *Values, given map[string]any) {
	for i := range t {
		if value, ok := given[t[i].Name]; ok {
			t[i].Assign(v, value)
		}
	}
}

// Defaults returns the values of options that have a default, by name. A default
// that cannot be read is a mistake in the table, and panics.
func (t Options) Defaults() map[string]any {
	out := map[string]any{}
	for i := range t {
		o := &t[i]
		if o.Default == "" {
			continue
		}
		value, err := o.Read(nil, o.Default)
		if err != nil {
			panic("option: the default of " + o.Name + ": " + err.Error())
		}
		out[o.Name] = value
	}
	return out
}
