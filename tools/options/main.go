// Command generate writes the files that come from the table of options: the options of a batch
// spec, its JSON Schema, docs/options.md, and the options of the Python package; and docs/diagnoses.md from the gate of
// package summary. Its argument is the root of the repository. The templates beside it have the forms of the files.
package main

import (
	"bytes"
	"cmp"
	"embed"
	"encoding/json"
	"fmt"
	"go/format"
	"log"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"text/template"

	"gpfit/fit/summary"
	"gpfit/option"
)

func main() {
	log.SetFlags(0)
	if len(os.Args) != 2 {
		log.Fatal("usage: generate ROOT")
	}
	root := os.Args[1]
	files, err := render(option.All(), filepath.Join(root, "batch/spec/schema.base.json"))
	if err != nil {
		log.Fatal(err)
	}
	for path, text := range files {
		if err := os.WriteFile(filepath.Join(root, path), text, 0o644); err != nil {
			log.Fatal(err)
		}
	}
}

//go:embed *.tmpl
var templates embed.FS

// paths are the files of the templates, below the root.
var paths = map[string]string{
	"options.go.tmpl": "batch/spec/options.go", "options.md.tmpl": "docs/options.md", "diagnoses.md.tmpl": "docs/diagnoses.md",
	"options.py.tmpl": "python/src/pygpfit/_options.py", "parameters.py.tmpl": "python/src/pygpfit/_parameters.py",
}

// render returns the files, by their paths below the root. base is the schema without the options.
func render(options option.Entries, base string) (map[string][]byte, error) {
	all, err := template.New("").Funcs(template.FuncMap{
		"field": fieldName, "python": pythonDefault,
		"commands": func() []string {
			return []string{"fit", "nlml", "select", "compare", "path", "profile", "update", "predict", "sample", "loo", "weights", "export", "inspect", "check", "kernel check",
				"kernel show", "batch", "resume", "show", "report", "bench", "devices", "version"}
		},
		"diagnoses": func() []summary.Diagnosis { return summary.Gate },
		"class":     className, "type": pythonType, "key": pythonKey,
		"escape": func(cell string) string { return strings.ReplaceAll(cell, "|", "\\|") },
	}).ParseFS(templates, "*.tmpl")
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{}
	for name, path := range paths {
		var b bytes.Buffer
		if err := all.ExecuteTemplate(&b, name, tableView{options}); err != nil {
			return nil, err
		}
		files[path] = b.Bytes()
	}
	const code, schema = "batch/spec/options.go", "batch/spec/schema.json"
	if files[code], err = format.Source(files[code]); err != nil {
		return nil, err
	}
	files[schema], err = schemaFile(options.For(option.Spec), base)
	return files, err
}

// schemaFile returns the JSON Schema of a batch spec.
func schemaFile(options option.Entries, base string) ([]byte, error) {
	text, err := os.ReadFile(base)
	if err != nil {
		return nil, err
	}
	var schema struct {
		Schema      string         `json:"$schema"`
		Title       string         `json:"title"`
		Description string         `json:"description"`
		Type        string         `json:"type"`
		Additional  bool           `json:"additionalProperties"`
		Required    []string       `json:"required"`
		Properties  map[string]any `json:"properties"`
		Defs        map[string]any `json:"$defs"`
	}
	if err := json.Unmarshal(text, &schema); err != nil {
		return nil, err
	}
	properties := map[string]any{}
	for i := range options {
		properties[options[i].Key()] = options[i].Schema()
	}
	schema.Defs["options"] = map[string]any{"properties": properties}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err = e.Encode(schema)
	return b.Bytes(), err
}

// tableView is the table of options, as templates see it.
type tableView struct{ option.Entries }

// entry is an option of the page, and parts are its meanings, each with the facts of the commands that it has them for.
type entry struct {
	Name  string
	Parts []part
}

type part struct {
	Text  string
	Facts []string
}

// Sections returns the entries of the page in alphabetical order.
func (t tableView) Sections() []entry {
	var all []entry
	for _, o := range slices.SortedStableFunc(slices.Values(t.Entries), func(a, b option.Option) int { return strings.Compare(a.Name, b.Name) }) {
		if len(all) == 0 || all[len(all)-1].Name != o.Name {
			all = append(all, entry{Name: o.Name})
		}
		parts, text := &all[len(all)-1].Parts, t.told(o)
		i := slices.IndexFunc(*parts, func(p part) bool { return p.Text == text })
		if i < 0 {
			i, *parts = len(*parts), append(*parts, part{Text: text})
		}
		(*parts)[i].Facts = append((*parts)[i].Facts, "**"+where(o)+":** "+facts(o))
	}
	return all
}

// Taken returns the options that a command takes from Python, which has no use for a fit without a model.
func (t tableView) Taken(command string) option.Entries {
	if command == "batch" {
		return append(t.For(option.Every), t.For(command)...)
	}
	return slices.DeleteFunc(t.For(command), func(o option.Option) bool { return o.Name == "dry-run" })
}

// Asked returns the options that callers of a function of Python give: how to print is its own concern, and it has parameters for some.
func (t tableView) Asked(command string) option.Entries {
	own := append([]string{"json", "quiet"}, map[string][]string{"report": {"out"}, "batch": {"out"}, "kernel check": {"matrix"}}[command]...)
	return slices.DeleteFunc(t.Taken(command), func(o option.Option) bool { return slices.Contains(own, o.Name) })
}

// Variables returns the environment variables of all options.
func (t tableView) Variables() []string {
	var names []string
	for i := range t.Entries {
		if name := t.Entries[i].Variable(); name != "" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// pythonOwn are the options of fit that the estimator of the Python package does not take:
// it writes the table and reads the result itself, and random_state is its seed.
var pythonOwn = []string{"target", "header", "seed", "split-mask", "out", "force", "json", "quiet", "from", "report", "posterior-out", "dry-run"}

// Parameters returns the options that are parameters of the estimator. The kernel, the only one
// that may be given by position, comes first.
func (t tableView) Parameters() option.Entries {
	options := slices.DeleteFunc(t.For("fit"), func(o option.Option) bool { return slices.Contains(pythonOwn, o.Name) })
	i := slices.IndexFunc(options, func(o option.Option) bool { return o.Name == "kernel" })
	return slices.Concat(options[i:i+1], options[:i], options[i+1:])
}

// Described returns the help of an option in lines of at most 88 characters, with other options
// as the keywords of Python.
func (t tableView) Described(o option.Option) string {
	help := strings.ReplaceAll(o.Help, `\`, `\\`)
	for i := range t.Entries {
		help = strings.ReplaceAll(help, "option "+t.Entries[i].Name+" ", t.Entries[i].Key()+" ")
	}
	if o.Words != nil {
		help += ": " + strings.Join(o.Words, ", ")
	}
	if o.Unit != "" {
		help += " (" + o.Unit + ")"
	}
	const indent, width = "\n        ", 80
	var b strings.Builder
	length := width
	for _, word := range strings.Fields(help) {
		separator := " "
		if length += 1 + len([]rune(word)); length > width {
			separator, length = indent, len([]rune(word))
		}
		b.WriteString(separator + word)
	}
	return strings.TrimPrefix(b.String(), "\n")
}

// initialisms are parts of names that Go writes in capitals.
var initialisms = []string{"ard", "psd"}

// fieldName returns the name of an option as a Go field.
func fieldName(o option.Option) string {
	var b strings.Builder
	for _, part := range strings.Split(o.Name, "-") {
		if slices.Contains(initialisms, part) {
			b.WriteString(strings.ToUpper(part))
		} else {
			b.WriteString(strings.ToUpper(part[:1]) + part[1:])
		}
	}
	return b.String()
}

// named finds the names of options in a help text.
var named = regexp.MustCompile(`\boption ([a-z-]+)`)

// told returns the help of an option as sentences, with the names of options as flags.
func (t tableView) told(o option.Option) string {
	return strings.ToUpper(o.Help[:1]) + named.ReplaceAllStringFunc(o.Help[1:], func(text string) string {
		name := strings.TrimPrefix(text, "option ")
		if !slices.ContainsFunc(t.Entries, func(o option.Option) bool { return o.Name == name }) {
			return text
		}
		return "`--" + name + "`"
	}) + "."
}

// trainers are the commands that read a training table, for which the page says "tables".
const trainers = "fit, nlml, profile, select, compare, bench, kernel check, path"

// where returns the commands that take an option.
func where(o option.Option) string {
	places := slices.DeleteFunc(slices.Clone(o.Places), func(p string) bool { return p == option.Spec })
	if len(places) == 0 {
		return "spec"
	}
	list := strings.Replace(strings.Join(places, ", "), trainers, "tables", 1)
	return strings.ReplaceAll(list, option.Every, "batch")
}

// facts returns the value of an option with its default, its variable and its key.
func facts(o option.Option) string {
	var all []string
	switch {
	case o.Words != nil:
		all = append(all, strings.Join(o.Words, "|"))
	case o.Bounded():
		all = append(all, fmt.Sprintf("%d to %d", o.Least, o.Most))
	case !o.Kind.Flag && !slices.Contains([]string{option.Whole.Name, option.File.Name, option.Text.Name}, o.Kind.Name):
		all = append(all, o.Kind.Name)
	}
	if o.Unit != "" {
		all = append(all, "in "+o.Unit)
	}
	if text := cmp.Or(o.Unset, o.Default); text != "" && text != "false" {
		all = append(all, "default: "+text)
	}
	if o.Variable() != "" {
		all = append(all, "`"+o.Variable()+"`")
	}
	if o.In(option.Spec) {
		all = append(all, "`"+o.Key()+":`")
	}
	return cmp.Or(strings.Join(all, "; "), "no variable")
}

// pythonDefault returns a default as a Python literal. None means that gpfit decides.
func pythonDefault(o option.Option) (string, error) {
	switch {
	case o.Kind.Flag && o.Default == "true":
		return "True", nil
	case o.Kind.Flag:
		return "False", nil
	case o.Default == "":
		return "None", nil
	case slices.Contains([]string{option.Whole.Name, option.Seed.Name, option.Number.Name}, o.Kind.Name):
		return o.Default, nil
	}
	quoted, err := json.Marshal(o.Default)
	return string(quoted), err
}

// className returns the name of the class of a command's options in Python.
func className(command string) string {
	var b strings.Builder
	for _, word := range strings.Fields(command) {
		b.WriteString(strings.ToUpper(word[:1]) + word[1:])
	}
	return b.String() + "Options"
}

// pythonKey returns the keyword of an option: a word of Python's own has _ at its end.
func pythonKey(o option.Option) string {
	if o.Name == "from" || o.Name == "lambda" {
		return o.Name + "_"
	}
	return o.Key()
}

// pythonTypes are the types of values in Python by the names of kinds.
var pythonTypes = map[string]string{
	option.Text.Name: "str | int", option.Column.Name: "str | int", option.Columns.Name: "str | int | Sequence[str | int]", option.Texts.Name: "str | Sequence[str]",
	option.Words.Name: "str | Sequence[str]", option.File.Name: "str | os.PathLike[str]", option.Truth.Name: "bool", option.Whole.Name: "int",
	option.Wholes.Name: "int | Sequence[int]", option.Numbers.Name: "float | str | Sequence[float]", option.Number.Name: "float", option.Level.Name: "float | str",
	option.Memory.Name: "str", "NAME=VALUE": "str | Sequence[str] | Mapping[str, float]", "NAME or NAME=VALUE": "str | Sequence[str] | Mapping[str, float | None]",
	"NAME=LO:HI": "str | Sequence[str] | Mapping[str, tuple[float, float] | str]",
}

// pythonType returns the type of an option's values in Python.
func pythonType(o option.Option) string {
	kind, known := pythonTypes[o.Kind.Name]
	switch {
	case o.Words != nil && !o.Kind.Repeats:
		kind = `Literal["` + strings.Join(o.Words, `", "`) + `"]`
		if o.Kind.Name == option.YesNo.Name && slices.Contains(o.Words, "on") {
			kind = "bool | " + kind
		}
	case !known:
		kind = "str | Sequence[str] | Mapping[str, str]"
	}
	return kind + " | None"
}
