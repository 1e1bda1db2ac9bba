package spec

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"

	"gpfit/fit/problem"
	"gpfit/option"
)

// known are the options that a spec takes, in the order of the fields of Options.
var known = sync.OnceValue(func() option.Entries { return option.All().For(option.Spec) })

// Stating returns options with the given values, which have the names of their options
// and the types of their kinds. It is for options of one value.
func Stating(given map[string]any) Options {
	var o Options
	fields := reflect.ValueOf(&o).Elem()
	for i, o := range known() {
		if value, ok := given[o.Name]; ok {
			field := fields.Field(i)
			field.Set(reflect.New(field.Type().Elem()))
			field.Elem().Set(reflect.ValueOf(value).Convert(field.Type().Elem()))
		}
	}
	return o
}

// defaults returns the defaults that a resolved spec states.
var defaults = sync.OnceValue(func() Options {
	given := map[string]any{}
	for name, value := range known().Defaults() {
		if known().Find(name, option.Spec).Stated {
			given[name] = value
		}
	}
	return Stating(given)
})

// checkOptions returns an error for values that no job can have.
func (s *Batch) checkOptions(at string, o Options) error {
	_, bad := o.read()
	if bad == nil {
		return nil
	}
	msg := bad.err.Error()
	wrong, isOption := errors.AsType[*problem.OptionError](bad.err)
	if isOption {
		msg = wrong.Msg
	}
	what := bad.option.Key()
	switch {
	case bad.Name != "":
		what += " of " + bad.Name + ": "
	case !isOption:
		what = "" // the message contains the text
	case wrong.Value != "":
		what += " " + wrong.Value + ": "
	default:
		what += ": "
	}
	return s.errorAt(at+"."+bad.option.Key()+bad.place, bad.err, "%s%s", what, msg)
}

// badItem is an item that no job can have, with the reason.
type badItem struct {
	item
	option *option.Option
	err    error
}

// read returns the stated options by their names, or the first bad item.
func (o Options) read() (map[string]any, *badItem) {
	given := map[string]any{}
	fields := reflect.ValueOf(o)
	for i := range known() {
		opt, field := &known()[i], fields.Field(i)
		if field.IsNil() {
			continue
		}
		items := itemsOf(field)
		if len(items) == 0 && opt.Kind.Columns {
			return nil, &badItem{option: opt, err: &problem.OptionError{Option: opt.Name, Msg: "names no column"}}
		}
		for _, item := range items {
			err := checkItem(opt, item.Item)
			if err == nil {
				given[opt.Name], err = opt.ReadItem(given[opt.Name], item.Item)
			}
			if err != nil {
				return nil, &badItem{item, opt, err}
			}
		}
	}
	return given, nil
}

// checkItem refuses values that a command takes but a batch does not.
func checkItem(opt *option.Option, e option.Item) error {
	switch {
	case opt.Single != "" && strings.Contains(e.Value, ","):
		return &problem.OptionError{Option: opt.Name, Value: strconv.Quote(e.Value), Msg: opt.Single}
	case opt.SpecWords != nil && !slices.Contains(opt.SpecWords, e.Value):
		return &problem.OptionError{Option: opt.Name, Value: strconv.Quote(e.Value), Msg: "must be " + option.OrList(opt.SpecWords) + " in a batch"}
	case opt.Kind.Go == "map[string][]float64" && strings.Count(e.Value, ":") != 1:
		return &problem.OptionError{Option: opt.Name, Value: e.Name, Msg: "must be [lower, upper] with lower < upper"}
	}
	return nil
}

// item is an entry and its place below its key.
type item struct {
	option.Item
	place string
}

// itemsOf returns the entries of a field. It sorts the entries of a map by name.
func itemsOf(field reflect.Value) []item {
	switch field.Kind() {
	case reflect.Slice:
		items := make([]item, field.Len())
		for i := range items {
			items[i] = item{option.Item{Value: textOf(field.Index(i)), Given: true}, fmt.Sprintf("[%d]", i)}
		}
		return items
	case reflect.Map:
		var items []item
		for _, key := range slices.SortedFunc(slices.Values(field.MapKeys()), func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) }) {
			value := field.MapIndex(key)
			given := value.Kind() != reflect.Pointer || !value.IsNil()
			items = append(items, item{option.Item{Name: key.String(), Value: textOf(value), Given: given}, "." + key.String()})
		}
		return items
	}
	return []item{{option.Item{Value: textOf(field), Given: true}, ""}}
}

// textOf returns a value in the form that an option reads. Numbers keep their bits.
func textOf(v reflect.Value) string {
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			return ""
		}
		return textOf(v.Elem())
	case reflect.Slice:
		parts := make([]string, v.Len())
		for i := range parts {
			parts[i] = textOf(v.Index(i))
		}
		return strings.Join(parts, ":")
	case reflect.Float64:
		return strconv.FormatFloat(v.Float(), 'g', -1, 64)
	case reflect.Int64: // Bytes
		return strconv.FormatInt(v.Int(), 10) + "B"
	}
	return fmt.Sprint(v.Interface())
}
