package option

import "slices"

// in returns a shared list of places with more places appended.
func in(shared []string, more ...string) []string { return slices.Concat(shared, more) }

// Commands that share options.
var (
	// scored fit one model or evaluate it, and score it; fits also evaluate it along
	// parameters; choices fit several models; models are all of them.
	scored   = []string{"fit", "nlml"}
	fits     = in(scored, "profile")
	compares = []string{"compare"}
	choices  = in(compares, "select")
	models   = in(fits, "select", "compare")
	// tables read a training table.
	tables = in(models, "bench", "kernel check")
	// predictions read a table for a model, results take only a model.
	predictions = []string{"predict", "sample"}
	// rowTables read a table for a model, to predict or to add its rows.
	rowTables = in(predictions, "update")
	results   = []string{"loo", "weights", "export"}
)

// into assigns a value of type T to the field that at points to.
func into[T any](at func(*Values) *T) func(*Values, any) {
	return func(v *Values, value any) { *at(v) = value.(T) }
}

// word assigns a word to a field of a string type.
func word[T ~string](at func(*Values) *T) func(*Values, any) {
	return func(v *Values, value any) { *at(v) = T(value.(string)) }
}

// words returns a list of the library's words as texts.
func words[T ~string](list ...T) []string {
	out := make([]string, len(list))
	for i, w := range list {
		out[i] = string(w)
	}
	return out
}
