// Package reference writes the reference of the commands: manual pages and Markdown, from the
// definitions of the commands and their help. Start at [Markdown] and [Man].
//
// The writers of cobra do not serve here: they know no headings of flags, print Go's
// defaults, read the descriptions as Markdown, where the products in formulas become
// emphasis, and have no exit status and no environment.
package reference

import (
	"bytes"
	"embed"
	"fmt"
	"maps"
	"slices"
	"strings"
	"text/template"
	"time"

	"github.com/spf13/cobra"

	"gpfit/cmd/gpfit/internal/exit"
)

// Release is the version and the date of the program for the manual pages.
type Release struct {
	Version string
	Date    time.Time
}

// inIndex are the pages of commands that docs/commands.md describes well enough.
var inIndex = []string{"gpfit.md", "gpfit-help.md", "gpfit-kernel.md", "gpfit-version.md"}

// Markdown returns the Markdown pages of the commands below root, by file name. docs/commands.md lists them.
func Markdown(root *cobra.Command) map[string][]byte {
	file := func(cmd *cobra.Command) string { return dashed(cmd) + ".md" }
	all := render(root, "markdown.tmpl", file, template.FuncMap{"text": markdownText, "code": markdownCode})
	maps.DeleteFunc(all, func(name string, _ []byte) bool {
		return slices.Contains(inIndex, name) || strings.HasPrefix(name, "gpfit-completion")
	})
	return all
}

// Man returns the manual pages of a command and of the commands below it, by file name.
// They use only ASCII, so they look the same in every locale that has the characters.
func Man(root *cobra.Command, r Release) map[string][]byte {
	return render(root, "man.tmpl", func(cmd *cobra.Command) string { return dashed(cmd) + ".1" }, template.FuncMap{
		"text": roffText, "code": roffCode, "bold": roffBold, "italic": roffItalic, "upper": strings.ToUpper,
		"line":    func(text string) string { return guarded(roffCode(text)) },
		"version": func() string { return r.Version }, "date": func() string { return r.Date.UTC().Format("2006-01-02") },
	})
}

//go:embed *.tmpl
var templates embed.FS

// render returns the pages of a command and of the commands below it by a template,
// whose functions include form.
func render(root *cobra.Command, name string, file func(*cobra.Command) string, form template.FuncMap) map[string][]byte {
	functions := template.FuncMap{
		"file": file, "name": dashed, "join": strings.Join, "sentence": sentence,
		"statuses": exit.Statuses, "variables": func() []variable { return variables }, "optionVariables": func() string { return optionVariables },
	}
	maps.Copy(functions, form)
	t := template.Must(template.New(name).Funcs(functions).ParseFS(templates, name))
	out := map[string][]byte{}
	for _, p := range pages(root) {
		var b bytes.Buffer
		if err := t.Execute(&b, &p); err != nil {
			panic(err) // the tests write every page
		}
		out[file(p.Command)] = b.Bytes()
	}
	return out
}

// markdownText returns a text as Markdown that shows it as it is, with code in it.
func markdownText(text string) string {
	escape := strings.NewReplacer(`\`, `\\`, "*", `\*`, "_", `\_`, "`", "\\`", "<", "&lt;", "&", "&amp;")
	return inline(text, markdownCode, escape.Replace)
}

func markdownCode(text string) string { return "`" + text + "`" }

func roffBold(text string) string   { return `\fB` + roffCode(text) + `\fR` }
func roffItalic(text string) string { return `\fI` + roffCode(text) + `\fR` }

// roffText returns a text for filled lines, with code in bold letters.
func roffText(text string) string {
	return guarded(inline(text, roffBold, func(s string) string { return escaped(s, false) }))
}

// roffCode returns a text with the characters that a user types.
func roffCode(text string) string { return escaped(text, true) }

// typed are the characters for which roff prints others unless they are escaped.
var typed = map[rune]string{'-': `\-`, '\'': `\(aq`, '^': `\(ha`, '~': `\(ti`, '`': `\(ga`}

func escaped(text string, code bool) string {
	var b strings.Builder
	for _, r := range text {
		t, special := typed[r]
		switch {
		case r == '\\':
			b.WriteString(`\(rs`)
		case special && (code || r != '-' && r != '\''):
			b.WriteString(t)
		case r > 126:
			fmt.Fprintf(&b, `\[u%04X]`, r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// guarded returns a line that roff does not read as a request.
func guarded(line string) string {
	if line != "" && (line[0] == '.' || line[0] == '\'') {
		return `\&` + line
	}
	return line
}
