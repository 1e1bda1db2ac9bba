package option

import (
	"errors"
	"reflect"
	"slices"
	"strings"
)

// Check returns an error for the first rule that the options given to a place break. values
// also holds the defaults.
func (t Entries) Check(place string, values, given map[string]any) error {
	for i := range t {
		for _, r := range t[i].Rules {
			applies := t[i].Name
			if r.If != "" {
				applies += "=" + r.If
			}
			if r.Places != nil && !slices.Contains(r.Places, place) || !Holds(applies, values, given) {
				continue
			}
			has := func(condition string) bool {
				name, _, _ := strings.Cut(condition, "=")
				return t.Has(name)
			}
			is := func(condition string) bool { return Holds(condition, values, given) }
			if slices.ContainsFunc(r.Needs, has) && !slices.ContainsFunc(r.Needs, is) {
				return r.broken(t[i].Name+" needs "+t.list(r.Needs), "")
			}
			if j := slices.IndexFunc(r.Excludes, is); j >= 0 {
				name, _, _ := strings.Cut(r.Excludes[j], "=")
				return r.broken(t[i].Name+" and option "+name+": give one of them", name)
			}
		}
	}
	return nil
}

// broken returns the error for a broken rule.
func (r *Constraint) broken(words, excluded string) error {
	if r.Text == "" {
		return errors.New("option " + words)
	}
	return errors.New(strings.Replace(r.Text, "%s", excluded, 1))
}

// Holds reports whether a condition is true.
func Holds(condition string, values, given map[string]any) bool {
	name, word, is := strings.Cut(condition, "=")
	value, ok := given[name]
	switch {
	case is && word == "":
		return !ok
	case !is:
		v := reflect.ValueOf(value)
		return ok && !v.IsZero() && (v.Kind() != reflect.Slice || v.Len() > 0)
	}
	if list, ok := values[name].([]string); ok {
		return slices.Contains(list, word)
	}
	return values[name] == word
}

// list writes conditions as "option a, option b c or d".
func (t Entries) list(conditions []string) string {
	var words []string
	last := ""
	for _, c := range conditions {
		name, word, is := strings.Cut(c, "=")
		o := t.named(name)
		switch {
		case o == nil || is && word == "":
			continue
		case is && name == last:
			words = append(words, word)
		case is:
			words = append(words, "option "+name+" "+word)
		default:
			words = append(words, strings.TrimSpace("option "+name+" "+o.Placeholder))
		}
		last = name
	}
	return strings.Join(words, " or ")
}

// named returns the option called name, or nil if there is none.
func (t Entries) named(name string) *Option {
	i := slices.IndexFunc(t, func(o Option) bool { return o.Name == name })
	if i < 0 {
		return nil
	}
	return &t[i]
}
