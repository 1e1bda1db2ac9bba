package reference

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"gpfit/cmd/gpfit/internal/exit"
)

// Release is what the manual pages say about the program.
type Release struct {
	Version string
	Date    time.Time
}

// Man returns the manual pages of a command and of those below it, by file name. They use
// ASCII alone, so they look the same in every locale that has the characters.
func Man(root *cobra.Command, r Release) map[string][]byte {
	out := map[string][]byte{}
	for _, p := range pages(root) {
		var b strings.Builder
		fmt.Fprintf(&b, ".TH %s 1 %s \"gpfit %s\" \"gpfit manual\"\n.nh\n.ad l\n", strings.ToUpper(roffCode(p.name)), r.Date.UTC().Format("2006-01-02"), roffText(r.Version))
		p.man(&b)
		out[p.name+".1"] = []byte(b.String())
	}
	return out
}

func (p *page) man(b *strings.Builder) {
	fmt.Fprintf(b, ".SH NAME\n%s \\- %s\n", roffCode(p.name), roffText(strings.ToLower(p.cmd.Short[:1])+p.cmd.Short[1:]))
	b.WriteString(".SH SYNOPSIS\n" + roffSynopsis(p.cmd) + "\n")
	b.WriteString(".SH DESCRIPTION\n")
	p.manDescription(b)
	if commands := children(p.cmd); commands != nil {
		b.WriteString(".SH COMMANDS\n")
		for _, c := range commands {
			roffItem(b, roffBold(c.CommandPath()), c.Short)
		}
	}
	b.WriteString(".SH OPTIONS\n")
	for _, g := range p.options {
		if len(p.options) > 1 {
			fmt.Fprintf(b, ".SS %s\n", roffText(g.Heading))
		}
		for _, f := range g.Flags {
			head := roffBold("--" + f.Name)
			if f.Shorthand != "" {
				head = roffBold("-"+f.Shorthand) + ", " + head
			}
			if f.Placeholder != "" {
				head += " " + roffItalic(f.Placeholder)
			}
			roffItem(b, head, f.Text)
		}
	}
	b.WriteString(".SH EXIT STATUS\n")
	for _, s := range exit.Statuses() {
		roffItem(b, roffBold(fmt.Sprint(s.Code)), s.Meaning)
	}
	p.manEnvironment(b)
	if p.examples != nil {
		b.WriteString(".SH EXAMPLES\n")
		roffLiteral(b, p.examples)
	}
	p.manSeeAlso(b)
}

func (p *page) manDescription(b *strings.Builder) {
	if len(p.description) == 0 {
		b.WriteString(roffText(sentence(p.cmd.Short)) + "\n")
	}
	for i := range p.description {
		d := &p.description[i]
		switch d.kind {
		case paragraph:
			if i > 0 && p.description[i-1].kind != heading {
				b.WriteString(".PP\n")
			}
			b.WriteString(roffText(d.text) + "\n")
		case heading:
			b.WriteString(".SS " + roffText(d.text) + "\n")
		case literal:
			if i > 0 && p.description[i-1].kind != heading {
				b.WriteString(".PP\n")
			}
			roffLiteral(b, d.lines)
		case definitions:
			for _, i := range d.items {
				roffItem(b, roffBold(i.term), i.text)
			}
		}
	}
}

func (p *page) manEnvironment(b *strings.Builder) {
	b.WriteString(".SH ENVIRONMENT\n")
	if p.cmd.HasParent() && p.hasVariables() {
		b.WriteString(roffText(p.ownVariables()) + "\n")
	} else {
		b.WriteString(roffText(optionVariables) + "\n")
	}
	if p.cmd.HasParent() {
		fmt.Fprintf(b, "%s(1) lists the variables that all commands read.\n", roffBold(p.cmd.Root().Name()))
		return
	}
	for _, v := range variables {
		roffItem(b, roffBold(v.name), v.meaning)
	}
}

func (p *page) manSeeAlso(b *strings.Builder) {
	b.WriteString(".SH SEE ALSO\n")
	related := children(p.cmd)
	if p.cmd.HasParent() {
		related = append([]*cobra.Command{p.cmd.Parent()}, related...)
	}
	for i, c := range related {
		comma := ","
		if i == len(related)-1 {
			comma = ""
		}
		fmt.Fprintf(b, ".BR %s (1)%s\n", roffCode(strings.ReplaceAll(c.CommandPath(), " ", "-")), comma)
	}
}

// roffItem writes a term with its definition.
func roffItem(b *strings.Builder, term, text string) {
	fmt.Fprintf(b, ".TP\n%s\n%s\n", term, roffText(text))
}

// roffLiteral writes lines that stay as they are.
func roffLiteral(b *strings.Builder, lines []string) {
	b.WriteString(".RS 4\n.nf\n")
	for _, line := range lines {
		b.WriteString(guarded(roffCode(line)) + "\n")
	}
	b.WriteString(".fi\n.RE\n")
}

// roffSynopsis returns a command in bold letters with its arguments in italic ones.
func roffSynopsis(cmd *cobra.Command) string {
	arguments := strings.TrimPrefix(synopsis(cmd), cmd.CommandPath())
	out := roffBold(cmd.CommandPath())
	for _, a := range strings.Fields(arguments) {
		word := strings.Trim(a, "[].")
		before, after, _ := strings.Cut(a, word)
		out += " " + roffCode(before) + roffItalic(word) + roffCode(after)
	}
	return out
}

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
