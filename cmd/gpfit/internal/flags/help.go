package flags

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"

	"gpfit/cmd/gpfit/internal/messages"
	"gpfit/option"
)

// The widths of help texts.
const (
	defaultWidth  = 80
	leastWidth    = 40
	mostWidth     = 120
	mostFlagWidth = 26
)

// Common is the annotation of a command that lists the options of its short help, separated by blanks.
const Common = "common"

// fewFlags is the number of flags up to which the short help shows all of them.
const fewFlags = 14

// Help prints the help of a command, wrapped to the width of the terminal. After -h among args, the words
// of the command line, the help is short: usage, examples and the most common flags. Otherwise, after --help
// and "gpfit help", it has the description and all flags under their headings.
func Help(cmd *cobra.Command, args []string) {
	w := cmd.OutOrStdout()
	text := helpText
	if len(args) > 0 && !slices.ContainsFunc(args, func(word string) bool { return strings.HasPrefix(word, "--help") }) && !cmd.HasAvailableSubCommands() {
		text = shortText
	}
	_, _ = io.WriteString(w, text(cmd, width(w)))
}

// width returns the variable COLUMNS, or the width of w if that is a terminal, or 80.
func width(w io.Writer) int {
	columns, err := strconv.Atoi(os.Getenv("COLUMNS"))
	if f, ok := w.(interface{ Fd() uintptr }); err != nil && ok {
		columns, _, err = term.GetSize(int(f.Fd()))
	}
	if err != nil || columns <= 0 {
		return defaultWidth
	}
	return min(max(columns, leastWidth), mostWidth)
}

// shortText returns the short help of a command without commands.
func shortText(cmd *cobra.Command, width int) string {
	var b strings.Builder
	start(&b, cmd, cmd.Short+".", width)
	var all []HelpFlag
	for _, g := range HelpGroups(cmd) {
		all = append(all, g.Flags...)
	}
	common, more := strings.Fields(cmd.Annotations[Common]), 0
	b.WriteString("\nFlags:\n")
	for _, f := range all {
		if len(all) > fewFlags && f.Name != "help" && !slices.Contains(common, f.Name) {
			more++
			continue
		}
		hang(&b, f.head(), f.Text, mostFlagWidth+2, width)
	}
	name := strings.TrimPrefix(cmd.CommandPath(), cmd.Root().Name()+" ")
	text := fmt.Sprintf("'gpfit help %s' describes the command.", name)
	if more > 0 {
		text = fmt.Sprintf("'gpfit help %s' describes the command and %d more flags.", name, more)
	}
	b.WriteString("\n" + Wrap(text, width) + "\n")
	return b.String()
}

// start writes usage, text and examples.
func start(b *strings.Builder, cmd *cobra.Command, text string, width int) {
	use := cmd.UseLine()
	if cmd.HasAvailableSubCommands() {
		use = cmd.CommandPath() + " COMMAND"
	}
	b.WriteString("Usage:\n  " + use + "\n")
	if cmd.HasExample() {
		b.WriteString("\nExamples:\n")
		for line := range strings.Lines(cmd.Example) {
			b.WriteString(brokenCommand(strings.TrimSuffix(line, "\n"), width) + "\n")
		}
	}
	b.WriteString("\n" + Wrap(text, width) + "\n")
}

// brokenCommand breaks a command that is too wide before flags, with a backslash as in a shell.
func brokenCommand(line string, width int) string {
	const indent = "        " // deeper than flags
	var out []string
	for utf8.RuneCountInString(line) > width {
		at := strings.LastIndex(string([]rune(line)[:width-1]), " --")
		if at <= len(indent) {
			break
		}
		out, line = append(out, line[:at]+" \\"), indent+line[at+1:]
	}
	return strings.Join(append(out, line), "\n")
}

func helpText(cmd *cobra.Command, width int) string {
	var b strings.Builder
	text := cmd.Long
	start(&b, cmd, cmp.Or(text, cmd.Short+"."), width)
	listCommands(&b, cmd, width)
	for _, g := range HelpGroups(cmd) {
		b.WriteString("\n" + g.Heading + ":\n")
		for _, f := range g.Flags {
			hang(&b, f.head(), f.Text, mostFlagWidth+2, width)
		}
	}
	return b.String()
}

// listCommands lists the commands of a command by their groups.
func listCommands(b *strings.Builder, cmd *cobra.Command, width int) {
	groups := cmd.Groups()
	if len(groups) == 0 {
		groups = []*cobra.Group{{Title: "Commands"}}
	}
	for _, g := range groups {
		if !cmd.HasAvailableSubCommands() {
			return
		}
		b.WriteString("\n" + g.Title + ":\n")
		for _, c := range cmd.Commands() {
			if c.GroupID == g.ID && (c.IsAvailableCommand() || c.Name() == "help") {
				hang(b, "  "+c.Name(), c.Short, 14, width)
			}
		}
	}
}

// HelpGroup is a heading of the help with its flags.
type HelpGroup struct {
	Heading string
	Flags   []HelpFlag
}

// HelpFlag is a flag as the help shows it.
type HelpFlag struct {
	Name, Shorthand string
	// Placeholder represents the value. It is "" if the flag is true or false.
	Placeholder string
	// Text describes the flag, with its unit, range and default.
	Text string
	// Variable is the environment variable of the flag, or "".
	Variable string
}

// head returns the names of a flag with the placeholder of its value.
func (f HelpFlag) head() string {
	head := "      --" + f.Name
	if f.Shorthand != "" {
		head = "  -" + f.Shorthand + ", --" + f.Name
	}
	return strings.TrimRight(head+" "+f.Placeholder, " ")
}

// HelpGroups returns the flags of a command by their headings, in the order of the table and
// then of its groups.
func HelpGroups(cmd *cobra.Command) []HelpGroup {
	all := make([]HelpGroup, 0, len(option.Groups()))
	for _, group := range option.Groups() {
		g := HelpGroup{Heading: string(group)}
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			v, ok := f.Value.(*tableFlag)
			switch {
			case f.Hidden:
			case ok && v.group() == group:
				g.Flags = append(g.Flags, v.help())
			case !ok && group == option.General: // cobra's
				g.Flags = append(g.Flags, HelpFlag{Name: f.Name, Shorthand: f.Shorthand, Text: messages.Flags(f.Usage)})
			}
		})
		if g.Flags != nil {
			all = append(all, g)
		}
	}
	return all
}

// overrides reports whether the options override others, so that their defaults do not count.
func (o *Set) overrides() bool { return o.place == option.Every }

func (f *tableFlag) group() option.Group {
	if f.all.overrides() {
		return option.EachJob
	}
	return f.option.Group
}

func (f *tableFlag) help() HelpFlag {
	return HelpFlag{Name: f.option.Name, Shorthand: f.option.Short, Placeholder: f.placeholder(), Text: f.text(), Variable: f.option.Variable()}
}

// placeholder returns the representation of the value, "" for true or false.
func (f *tableFlag) placeholder() string {
	switch o := f.option; {
	case o.Kind.Flag:
		return ""
	case o.Placeholder != "":
		return o.Placeholder
	case o.Kind.Named:
		return o.Kind.Name
	case o.Words != nil:
		return strings.Join(o.Words, "|")
	case o.Kind.Repeats:
		return "N,N,…"
	}
	return "N"
}

// text returns the description with unit, range and default.
func (f *tableFlag) text() string {
	o := f.option
	var notes []string
	if o.Unit != "" && o.Unset == "" && !o.Kind.Columns {
		notes = append(notes, o.Unit)
	}
	if o.Bounded() {
		notes = append(notes, fmt.Sprintf("at most %d", o.Most))
	}
	if o.Kind.Named || o.Kind.Name == option.Texts.Name || o.Kind.Name == option.Names.Name {
		notes = append(notes, "may be repeated")
	}
	if d := cmp.Or(o.Unset, o.Default); !f.all.overrides() && !slices.Contains([]string{"", "0", "false"}, d) {
		notes = append(notes, "default: "+d)
	}
	if notes == nil {
		return messages.Flags(o.Help)
	}
	return messages.Flags(o.Help + " (" + strings.Join(notes, "; ") + ")")
}

// hang writes a text beside its head, from a column on. If the head is too long, the
// text begins on the next line.
func hang(b *strings.Builder, head, text string, column, width int) {
	margin := strings.Repeat(" ", column)
	lines := fill(text, width-column)
	if utf8.RuneCountInString(head)+2 > column {
		b.WriteString(head + "\n")
	} else {
		b.WriteString(head + margin[utf8.RuneCountInString(head):] + lines[0] + "\n")
		lines = lines[1:]
	}
	for _, line := range lines {
		b.WriteString(margin + line + "\n")
	}
}

// fill breaks a text into lines of at most width characters. A longer word stands alone on its line.
func fill(text string, width int) []string {
	var lines []string
	line := ""
	for _, word := range strings.Fields(text) {
		switch {
		case line == "":
			line = word
		case utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > width:
			lines = append(lines, line)
			line = word
		default:
			line += " " + word
		}
	}
	return append(lines, line)
}

// Wrap breaks the paragraphs of a text into lines. Blocks of lines that begin with blanks stay as
// they are if they fit; otherwise each item continues below its second column.
func Wrap(text string, width int) string {
	var out, paragraph, block []string
	end := func() {
		if paragraph != nil {
			out = append(out, fill(strings.Join(paragraph, " "), width)...)
		}
		out = append(out, wrapBlock(block, width)...)
		paragraph, block = nil, nil
	}
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		switch {
		case strings.TrimSpace(line) == "":
			end()
			out = append(out, "")
		case line[0] == ' ':
			block = append(block, line)
		case block != nil:
			end()
			fallthrough
		default:
			paragraph = append(paragraph, line)
		}
	}
	end()
	return strings.Join(out, "\n")
}

// wrapBlock wraps a block of indented lines if one of them does not fit. A line that is
// indented further and has only one column belongs to the item above it.
func wrapBlock(block []string, width int) []string {
	if !slices.ContainsFunc(block, func(line string) bool { return utf8.RuneCountInString(line) > width }) {
		return block
	}
	var items []string
	for _, line := range block {
		body := strings.TrimLeft(line, " ")
		if last := len(items) - 1; last >= 0 && !strings.Contains(body, "  ") && indent(line) > indent(items[last]) {
			items[last] += " " + body
			continue
		}
		items = append(items, line)
	}
	var out []string
	for _, line := range items {
		out = append(out, wrapItem(line, width)...)
	}
	return out
}

// indent returns the number of blanks at the beginning of a line.
func indent(line string) int { return len(line) - len(strings.TrimLeft(line, " ")) }

// wrapItem wraps an indented line below its second column, which two blanks separate
// from the first.
func wrapItem(line string, width int) []string {
	if utf8.RuneCountInString(line) <= width {
		return []string{line}
	}
	body := strings.TrimLeft(line, " ")
	column := indent(line)
	if i := strings.Index(body, "  "); i >= 0 {
		column += utf8.RuneCountInString(body[:i]) + len(body[i:]) - len(strings.TrimLeft(body[i:], " "))
	}
	runes := []rune(line)
	head, text := string(runes[:column]), string(runes[column:])
	if column > width/2 { // the first column stands alone
		column = indent(line) + 4
	}
	var b strings.Builder
	hang(&b, strings.TrimRight(head, " "), text, column, width)
	return strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
}
