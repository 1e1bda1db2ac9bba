// Package option reads gpfit's options and assigns them to the library's. Its table,
// [All], has one entry for every option of a command or of a batch spec: name, kind,
// default, unit, range, help, the places that take it, the options that it needs or
// excludes, and the field that it sets. Flags, GPFIT_ variables, the keys of a batch spec
// and their schema, the shell's completion and docs/options.md come from the table.
//
// The command line and a batch spec turn their own forms into [Item] values. An option
// reads them, and assigns the result to [Values]:
//
//	o := option.All().Find("restarts", "fit")
//	value, err := o.Read(nil, "5")
//	o.Assign(&values, value)
package option

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"

	"gpfit/fit/problem"
	"gpfit/internal/each"
	"gpfit/internal/suggest"
	"gpfit/internal/textform"
)

// The places of options that are not names of commands, such as "fit" and "kernel check".
const (
	// Spec is the place of options that a batch spec takes, and Every of options by which
	// gpfit batch overrides the spec.
	Spec  = "spec"
	Every = "batch, every job"
	// Program is the place of options that stand without a command.
	Program = "gpfit"
)

// Group is the heading of an option in help texts.
type Group string

// The groups, in the order in which help texts show them.
const (
	Running    Group = "Run"
	EachJob    Group = "Every job (overrides the spec)"
	Cluster    Group = "Cluster"
	Measuring  Group = "Measurement"
	Points     Group = "Points"
	Prior      Group = "Prior"
	Predicting Group = "Prediction"
	Kernels    Group = "Kernels"
	Profile    Group = "Profile"
	Data       Group = "Data"
	Model      Group = "Model"
	Noise      Group = "Noise"
	Parameters Group = "Parameters"
	Tuning     Group = "Tuning"
	Scores     Group = "Scores"
	Experts    Group = "Local experts"
	Posterior  Group = "Posterior of the parameters"
	Draws      Group = "Draws"
	OutputFile Group = "Output"
	Device     Group = "Device"
	Jobs       Group = "Jobs"
	General    Group = "Flags"
)

// Groups returns all groups, in order.
func Groups() []Group {
	return []Group{Running, EachJob, Cluster, Measuring, Points, Prior, Predicting, Kernels, Profile, Data, Model, Noise, Parameters,
		Tuning, Scores, Experts, Posterior, Draws, OutputFile, Device, Jobs, General}
}

// Option is one entry of the table.
type Option struct {
	// Name is the name, with hyphens: the flag is --Name, the variable is
	// GPFIT_NAME, and the key of a spec is the name with underscores.
	Name string
	// Short is the letter of a short flag, and Former an earlier name, which still works.
	Short, Former string
	Kind          ValueKind
	Group         Group
	// Default is the default as a text; "" if there is none. Unset describes the
	// default in words, if they say more.
	Default, Unset string
	// Unit is the unit of numbers.
	Unit string
	// Placeholder represents the value in help texts, such as "FILE".
	Placeholder string
	// Help says what the option does. It begins with a lower-case letter.
	Help string
	// Words are the words that the option takes. SpecWords are the words that a batch
	// spec takes, if they are fewer.
	Words, SpecWords []string
	// Instead says what serves who gives another word.
	Instead string
	// Least and Most bound a whole number; Most is 0 for no bound.
	Least, Most int
	// Examples are words that the shell offers. The option takes others, too.
	Examples []string
	// Places are the commands that take the option, and Spec.
	Places []string
	// NoVariable means that no variable sets the option: another command has an option
	// of the same name that means something else.
	NoVariable bool
	// Stated means that the resolved options of a batch state the default.
	Stated bool
	// Single is the reason why a batch spec takes one name and no comma-separated list.
	Single string
	// Rules say which other options this one needs or excludes.
	Rules []Constraint
	// check finds mistakes in a value that kind, words and range allow. It may be nil.
	check func(value any) error
	// Field names the field of [Values] that the option sets, such as "Fit.Kernel", or several,
	// separated by blanks. A word sets a field of a truth value to whether it is the second of
	// Words. Set, which may be nil, sets fields in another way.
	Field string
	Set   func(v *Values, value any)
}

// Assign stores a value of the kind's Go type in its fields.
func (o *Option) Assign(v *Values, value any) {
	if o.Set != nil {
		o.Set(v, value)
	}
	for path := range strings.FieldsSeq(o.Field) {
		field := reflect.ValueOf(v).Elem()
		for name := range strings.SplitSeq(path, ".") {
			field = field.FieldByName(name)
		}
		if word, ok := value.(string); ok && field.Kind() == reflect.Bool {
			field.SetBool(word == o.Words[1])
		} else {
			field.Set(reflect.ValueOf(value).Convert(field.Type()))
		}
	}
}

// Key returns the key in a batch spec.
func (o *Option) Key() string { return strings.ReplaceAll(o.Name, "-", "_") }

// Variable returns the name of the environment variable, or "" if there is none.
func (o *Option) Variable() string {
	if o.NoVariable || slices.Equal(o.Places, []string{Spec}) {
		return ""
	}
	return Variable(o.Name)
}

// Variable returns the environment variable of the flag called name.
func Variable(name string) string {
	return "GPFIT_" + strings.ToUpper(strings.ReplaceAll(name, "-", "_"))
}

// In reports whether a place takes the option.
func (o *Option) In(place string) bool { return slices.Contains(o.Places, place) }

// Constraint says which other options of a command an option needs or excludes. It applies if the
// option is given with another value than false, 0 or an empty one.
//
// Its conditions are names of options, which are true in the same case, or NAME=WORD, which
// is true if the option's value, or its default, is WORD or a list with it. NAME= is true if
// the option is not given.
type Constraint struct {
	// Places are the commands that have the rule, nil for all that have its options.
	Places []string
	// If is the word of the option to which the rule applies, "" for any.
	If string
	// Needs are conditions of which one must be true. No condition of Excludes may be.
	Needs, Excludes []string
	// Text is the message, if the names of the options do not say enough. It names options
	// as the library does; %s stands for the excluded option.
	Text string
}

// ValueKind defines how the values of an option are written, and their Go type.
type ValueKind struct {
	// Name is the kind's name in the documentation.
	Name string
	// Go is the type of the field in a batch spec, "" if a spec has none.
	Go string
	// Flag means that the name alone sets the value true.
	Flag bool
	// Repeats means that each item adds to the value.
	Repeats bool
	// Columns means that values are columns of DATA, and Named that items have names.
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

// text returns the item in the form of the command line.
func (e Item) text() string {
	if !e.Given {
		return e.Name
	}
	return e.Name + "=" + e.Value
}

// Read reads a text from the command line or a variable, which may hold several items.
// before is the value so far, nil for none. Read returns a [*problem.OptionError], or an
// error of the text form of a kernel, mean or prior.
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

// ReadItem reads one item and adds it to before, the value so far, nil for none. It
// returns the same errors as [Option.Read].
func (o *Option) ReadItem(before any, e Item) (any, error) {
	value, err := o.Kind.read(o, e)
	if err != nil {
		return nil, err
	}
	text := e.Value
	if o.Kind.Named {
		text = e.text()
	}
	if o.check != nil {
		err := o.check(value)
		if _, ok := errors.AsType[*textform.Error](err); ok {
			return nil, err // it shows the text, with a mark
		}
		if err != nil {
			return nil, o.wrong(text, "%v", err)
		}
	}
	return o.Kind.add(before, value), nil
}

func (o *Option) wrong(value, format string, args ...any) error {
	return &problem.OptionError{Option: o.Name, Value: value, Msg: fmt.Sprintf(format, args...)}
}

func (o *Option) checkWord(word string) error {
	if o.Words == nil || slices.Contains(o.Words, word) {
		return nil
	}
	return o.wrong(textform.Quote(word), "must be %s%s%s", OrList(o.Words), o.Instead, suggest.DidYouMean(word, o.Words))
}

func (o *Option) checkRange(n int) error {
	switch last := o.last(); {
	case o.Least <= n && n <= last:
		return nil
	case n < 0 && o.Least == 0 && !o.Bounded():
		return o.wrong(fmt.Sprint(n), "must not be negative")
	case n < o.Least && !o.Bounded():
		return o.wrong(fmt.Sprint(n), "must be at least %d", o.Least)
	default:
		return o.wrong(fmt.Sprint(n), "must be from %d to %d", o.Least, last)
	}
}

// Bounded reports whether a whole number has an upper bound that users should know.
func (o *Option) Bounded() bool { return o.Most > 0 }

// last is the largest whole number that the option takes.
func (o *Option) last() int {
	if o.Most == 0 {
		return math.MaxInt
	}
	return o.Most
}

// OrList joins words as in "a, b or c".
func OrList[T ~string](list []T) string {
	last := len(list) - 1
	if last < 1 {
		return strings.Join(words(list...), "")
	}
	return strings.Join(words(list[:last]...), ", ") + " or " + string(list[last])
}

// words returns a list of the library's words as texts.
func words[T ~string](list ...T) []string {
	return each.Of(list, func(w T) string { return string(w) })
}

// Entries is a list of options.
type Entries []Option

// For returns the options that a place takes.
func (t Entries) For(place string) Entries {
	var out Entries
	for _, o := range t {
		if o.In(place) {
			out = append(out, o)
		}
	}
	return out
}

// Find returns the option called name that a place takes, or nil if there is none.
func (t Entries) Find(name, place string) *Option {
	i := slices.IndexFunc(t, func(o Option) bool { return o.Name == name && o.In(place) })
	if i < 0 {
		return nil
	}
	return &t[i]
}

// Has reports whether an option has the name, in any place.
func (t Entries) Has(name string) bool {
	return slices.ContainsFunc(t, func(o Option) bool { return o.Name == name })
}

// Assign stores the given values, which have the names of their options, in their fields.
func (t Entries) Assign(v *Values, given map[string]any) {
	for i := range t {
		if value, ok := given[t[i].Name]; ok {
			t[i].Assign(v, value)
		}
	}
}

// Defaults returns the default values by name, of the options that have one. It panics
// if it cannot read a default, which is a mistake in the table.
func (t Entries) Defaults() map[string]any {
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
