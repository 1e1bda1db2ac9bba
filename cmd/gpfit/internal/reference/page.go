// Package reference writes the reference of the commands, as manual pages and as
// Markdown, from the definitions that the commands and their help have. Start at
// [Markdown] and [Man].
//
// The writers of cobra do not serve here: they know no headings of flags, print Go's
// defaults, read the descriptions as Markdown, where the products in formulas become
// emphasis, and have no exit status and no environment.
package reference

import (
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"gpfit/cmd/gpfit/internal/flags"
)

// page is a command as the reference describes it.
type page struct {
	cmd *cobra.Command
	// name is the command with dashes, such as "gpfit-kernel-check".
	name        string
	description []block
	examples    []string
	options     []flags.HelpGroup
}

// pages returns the pages of a command and of those below it. Hidden commands have none.
func pages(cmd *cobra.Command) []page {
	cmd.InitDefaultHelpFlag()
	p := page{cmd: cmd, name: strings.ReplaceAll(cmd.CommandPath(), " ", "-"), description: blocks(cmd.Long), options: flags.HelpGroups(cmd)}
	for line := range strings.Lines(cmd.Example) {
		p.examples = append(p.examples, strings.TrimSpace(line))
	}
	all := []page{p}
	for _, c := range children(cmd) {
		all = append(all, pages(c)...)
	}
	return all
}

// children returns the commands below cmd that have a page.
func children(cmd *cobra.Command) []*cobra.Command {
	var shown []*cobra.Command
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() || c.Name() == "help" {
			shown = append(shown, c)
		}
	}
	return shown
}

// withoutVariable returns the flags of a page that no environment variable sets.
func (p *page) withoutVariable() []string {
	var names []string
	for _, g := range p.options {
		for _, f := range g.Flags {
			if f.Variable == "" && f.Name != "help" {
				names = append(names, "--"+f.Name)
			}
		}
	}
	return names
}

// hasVariables reports whether an environment variable sets a flag of the page.
func (p *page) hasVariables() bool {
	for _, g := range p.options {
		for _, f := range g.Flags {
			if f.Variable != "" {
				return true
			}
		}
	}
	return false
}

// variable is an environment variable that is not the one of a flag.
type variable struct{ name, meaning string }

// variables lists the environment variables that all commands read.
var variables = []variable{
	{"COLUMNS", "width of the help, from 40 to 120 columns; the default is the width of the terminal"},
	{"GPFIT_CPU", "routines for the CPU: avx512, avx2, neon or generic; the default is the best that the processor has"},
	{"GPFIT_CUDA_DRIVER", "file of the CUDA driver's library, if the system's linker does not find it"},
	{"GPFIT_CUDA_LIB", "folder with cuBLAS and cuSOLVER of one CUDA toolkit"},
	{"CUDA_HOME, CUDA_PATH", "folder of a CUDA toolkit, where gpfit looks for cuBLAS and cuSOLVER"},
	{"CUBLAS_EMULATE_DOUBLE_PRECISION", "1 lets cuBLAS emulate float64; the description of the device then says so"},
	{"GOGC, GOMEMLIMIT", "settings of Go's garbage collector; without them a batch chooses its own"},
}

// block is a part of a description.
type block struct {
	kind  blockKind
	text  string   // of a paragraph or heading
	lines []string // literal
	items []item
}

type blockKind int

const (
	paragraph blockKind = iota
	heading
	literal
	definitions
)

// item is a term with its definition.
type item struct{ term, text string }

// blocks splits a description. Blank lines separate its blocks. Indented lines are
// definitions if each has two columns, and literal otherwise.
func blocks(text string) []block {
	var all []block
	var lines []string
	end := func() {
		if lines != nil {
			all = append(all, newBlock(lines))
		}
		lines = nil
	}
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, " \n")
		if line == "" || lines != nil && indented(line) != indented(lines[0]) {
			end()
		}
		if line != "" {
			lines = append(lines, line)
		}
	}
	end()
	return all
}

func indented(line string) bool { return line[0] == ' ' || line[0] == '\t' }

func newBlock(lines []string) block {
	if title, ok := strings.CutPrefix(lines[0], "#### "); ok { // as cobra writes them
		return block{kind: heading, text: strings.TrimSuffix(title, ":")}
	}
	if !indented(lines[0]) {
		return block{kind: paragraph, text: strings.Join(lines, " ")}
	}
	if items := newItems(lines); items != nil {
		return block{kind: definitions, items: items}
	}
	for i, line := range lines {
		lines[i] = strings.TrimLeft(line, " \t")
	}
	return block{kind: literal, lines: lines}
}

var twoColumns = regexp.MustCompile(`^ +(\S.*?)  +(\S.*)$`)

// newItems returns the items of lines with two columns, or nil if there are others. A line
// that is indented further and has one column continues the item above it.
func newItems(lines []string) []item {
	var items []item
	margin := len(lines[0]) - len(strings.TrimLeft(lines[0], " "))
	for _, line := range lines {
		body := strings.TrimLeft(line, " ")
		further := len(line)-len(body) > margin
		switch columns := twoColumns.FindStringSubmatch(line); {
		case further && items != nil:
			items[len(items)-1].text += " " + body
		case columns == nil || further:
			return nil
		default:
			items = append(items, item{term: columns[1], text: columns[2]})
		}
	}
	return items
}

// codeText finds what pages set as code: flags with their values, variables, and commands
// in quotation marks.
var codeText = regexp.MustCompile(`--[a-z][a-z0-9-]*(=[^\s,;)]*[^\s,;.:)]| '[^']+')?|\bGPFIT_[A-Z_]+|'gpfit [^']+'|"gpfit [^"]+"`)

// inline returns text with the functions applied to its code and to the rest.
func inline(text string, code, plain func(string) string) string {
	var b strings.Builder
	last := 0
	for _, at := range codeText.FindAllStringIndex(text, -1) {
		b.WriteString(plain(text[last:at[0]]))
		b.WriteString(code(unquoted(text[at[0]:at[1]])))
		last = at[1]
	}
	b.WriteString(plain(text[last:]))
	return b.String()
}

// unquoted returns a command without its quotation marks.
func unquoted(text string) string {
	if text[0] == '\'' || text[0] == '"' {
		return text[1 : len(text)-1]
	}
	return text
}

// sentence returns a text with a capital at its beginning and a full stop.
func sentence(text string) string {
	return strings.ToUpper(text[:1]) + strings.TrimSuffix(text[1:], ".") + "."
}
