package reference

import (
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"gpfit/cmd/gpfit/internal/flags"
)

// page is a command as the reference describes it.
type page struct {
	*cobra.Command
	Description []block
	Examples    []string
	Options     []flags.HelpGroup
}

// pages returns the pages of a command and of the commands below it. Hidden commands have none.
func pages(cmd *cobra.Command) []page {
	cmd.InitDefaultHelpFlag()
	p := page{Command: cmd, Description: blocks(cmd.Long), Options: flags.HelpGroups(cmd)}
	for line := range strings.Lines(cmd.Example) {
		p.Examples = append(p.Examples, strings.TrimSpace(line))
	}
	all := []page{p}
	for _, c := range p.Children() {
		all = append(all, pages(c)...)
	}
	return all
}

// dashed returns the name of a command with dashes, such as "gpfit-kernel-check".
func dashed(cmd *cobra.Command) string { return strings.ReplaceAll(cmd.CommandPath(), " ", "-") }

// Children returns the commands below that have a page.
func (p *page) Children() []*cobra.Command {
	var shown []*cobra.Command
	for _, c := range p.Commands() {
		if c.IsAvailableCommand() || c.Name() == "help" {
			shown = append(shown, c)
		}
	}
	return shown
}

// Related returns the command above and the commands below.
func (p *page) Related() []*cobra.Command {
	if p.HasParent() {
		return append([]*cobra.Command{p.Parent()}, p.Children()...)
	}
	return p.Children()
}

// BeginsWithShort reports whether the description begins with the line about the command.
func (p *page) BeginsWithShort() bool {
	return len(p.Description) > 0 && p.Description[0].Text == sentence(p.Short)
}

// LowerShort returns the line about the command, with a small letter at its beginning.
func (p *page) LowerShort() string { return strings.ToLower(p.Short[:1]) + p.Short[1:] }

// Synopsis returns the usage of a command.
func (p *page) Synopsis() string {
	if p.HasAvailableSubCommands() {
		return p.CommandPath() + " COMMAND"
	}
	text := strings.TrimSuffix(p.UseLine(), " [flags]")
	if p.HasAvailableFlags() {
		text += " [OPTION]..."
	}
	return text
}

// usageWord is an argument of a usage: a word between signs.
type usageWord struct{ Before, Word, After string }

// Arguments returns the arguments of the usage.
func (p *page) Arguments() []usageWord {
	var all []usageWord
	for _, a := range strings.Fields(strings.TrimPrefix(p.Synopsis(), p.CommandPath())) {
		word := strings.Trim(a, "[].")
		before, after, _ := strings.Cut(a, word)
		all = append(all, usageWord{before, word, after})
	}
	return all
}

// optionVariables says which variables the options have.
const optionVariables = "Options have environment variables: GPFIT_MAX_EVALS sets --max-evals. An option on the command line overrides its variable. The page of a command names the options without a variable."

// OwnVariables says which variables the options of a page have, "" if none has one.
func (p *page) OwnVariables() string {
	example, without := "", []string{}
	for _, g := range p.Options {
		for _, f := range g.Flags {
			switch {
			case f.Variable == "" && f.Name != "help":
				without = append(without, "--"+f.Name)
			case f.Variable != "" && example == "":
				example = f.Variable + " sets --" + f.Name
			}
		}
	}
	if example == "" {
		return ""
	}
	text := "Options have environment variables: " + example + ". An option on the command line overrides its variable."
	if len(without) > 0 {
		text += " These options have none: " + strings.Join(without, ", ") + "."
	}
	return text
}

// variable is an environment variable that belongs to no flag.
type variable struct{ Name, Meaning string }

// variables lists the environment variables that all commands read.
var variables = []variable{
	{"COLUMNS", "width of the help, from 40 to 120 columns; the default is the width of the terminal"},
	{"GPFIT_CPU", "routines for the CPU: avx512, avx2, neon or generic; the default is the best that the processor has"},
	{"GPFIT_CUDA_DRIVER", "file of the CUDA driver's library, if the system's linker does not find it"},
	{"GPFIT_CUDA_LIB", "folder with cuBLAS and cuSOLVER of one CUDA toolkit"},
	{"GPFIT_CUDA_STEPS", "large makes matrices of every size take the steps on a GPU of the largest, to compare them"},
	{"GPFIT_SCRATCH", "folder for a file with the tiles of the method tiles, if they do not fit in memory"},
	{"CUDA_HOME, CUDA_PATH", "folder of a CUDA toolkit, where gpfit looks for cuBLAS and cuSOLVER"},
	{"CUBLAS_EMULATE_DOUBLE_PRECISION", "1 lets cuBLAS emulate float64; the description of the device then says so"},
	{"GPFIT_MPI_LIBRARY, GPFIT_MPI_SCALAPACK", "files of the libraries of MPI and ScaLAPACK, if they have other names than usual"},
	{"GPFIT_MPI_ENGINE", "elpa lets ELPA invert triangles, in place of ScaLAPACK"},
	{"GPFIT_MPI_GRID, GPFIT_MPI_BLOCK", "rows and columns of the grid of ranks, such as 4x8, and the order of the blocks of their matrices"},
	{"GOGC, GOMEMLIMIT", "settings of Go's garbage collector; without them a batch chooses its own"},
}

// block is a part of a description: a paragraph, a heading, literal lines or definitions.
type block struct {
	Kind string
	Text string // of a paragraph or heading
	// Lines are literal.
	Lines []string
	Items []item
	// Spaced says that a paragraph or literal lines follow another block than a heading.
	Spaced bool
}

// item is a term with its definition.
type item struct{ Term, Text string }

// blocks splits a description. Blank lines separate its blocks. Indented lines are
// definitions if each has two columns, and literal otherwise.
func blocks(text string) []block {
	var all []block
	var lines []string
	end := func() {
		if lines != nil {
			b := newBlock(lines)
			b.Spaced = len(all) > 0 && all[len(all)-1].Kind != "heading" && (b.Kind == "paragraph" || b.Kind == "literal")
			all = append(all, b)
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
		return block{Kind: "heading", Text: strings.TrimSuffix(title, ":")}
	}
	if !indented(lines[0]) {
		return block{Kind: "paragraph", Text: strings.Join(lines, " ")}
	}
	if items := newItems(lines); items != nil {
		return block{Kind: "definitions", Items: items}
	}
	for i, line := range lines {
		lines[i] = strings.TrimLeft(line, " \t")
	}
	return block{Kind: "literal", Lines: lines}
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
			items[len(items)-1].Text += " " + body
		case columns == nil || further:
			return nil
		default:
			items = append(items, item{columns[1], columns[2]})
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
