package reference

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"gpfit/cmd/gpfit/internal/exit"
)

// Index is the file of the Markdown page that lists the others.
const Index = "README.md"

// Markdown returns the Markdown pages of a command and of those below it, by file name.
func Markdown(root *cobra.Command) map[string][]byte {
	out := map[string][]byte{}
	for _, p := range pages(root) {
		var b strings.Builder
		p.markdown(&b)
		out[markdownFile(p.cmd)] = []byte(b.String())
	}
	return out
}

func markdownFile(cmd *cobra.Command) string {
	if !cmd.HasParent() {
		return Index
	}
	return strings.ReplaceAll(cmd.CommandPath(), " ", "-") + ".md"
}

func (p *page) markdown(b *strings.Builder) {
	fmt.Fprintf(b, "# %s\n\n", p.cmd.CommandPath())
	if len(p.description) == 0 || p.description[0].kind != paragraph || p.description[0].text != sentence(p.cmd.Short) {
		fmt.Fprintf(b, "%s\n\n", markdownText(sentence(p.cmd.Short)))
	}
	fmt.Fprintf(b, "```text\n%s\n```\n", synopsis(p.cmd))
	for _, d := range p.description {
		b.WriteString("\n" + d.markdown())
	}
	if p.examples != nil {
		fmt.Fprintf(b, "\n## Examples\n\n```shell\n%s\n```\n", strings.Join(p.examples, "\n"))
	}
	if commands := children(p.cmd); commands != nil {
		b.WriteString("\n## Commands\n\n")
		for _, c := range commands {
			fmt.Fprintf(b, "- %s: %s\n", markdownLink(c), markdownText(c.Short))
		}
	}
	b.WriteString("\n## Options\n")
	for _, g := range p.options {
		fmt.Fprintf(b, "\n### %s\n\n", g.Heading)
		for _, f := range g.Flags {
			head := ""
			if f.Shorthand != "" {
				head = "`-" + f.Shorthand + "`, "
			}
			fmt.Fprintf(b, "- %s%s: %s\n", head, markdownCode(strings.TrimSpace("--"+f.Name+" "+f.Placeholder)), markdownText(f.Text))
		}
	}
	if p.cmd.HasParent() {
		p.markdownLinks(b)
	} else {
		p.markdownCommon(b)
	}
}

// markdownCommon writes what holds for all commands.
func (p *page) markdownCommon(b *strings.Builder) {
	b.WriteString("\n## Exit status\n\n")
	for _, s := range exit.Statuses() {
		fmt.Fprintf(b, "- `%d`: %s\n", s.Code, markdownText(s.Meaning))
	}
	b.WriteString("\n## Environment\n\n" + markdownText(optionVariables) + "\n\n")
	for _, v := range variables {
		fmt.Fprintf(b, "- `%s`: %s\n", v.name, markdownText(v.meaning))
	}
	b.WriteString("\n## These pages\n\n`go generate ./cmd/gpfit` writes these pages from the definitions of the commands.\nReleases have them as manual pages, too: `man gpfit-fit`.\n")
}

// markdownLinks writes the end of a command's page.
func (p *page) markdownLinks(b *strings.Builder) {
	if p.hasVariables() {
		b.WriteString("\n## Environment\n\n" + markdownText(p.ownVariables()) + "\n")
	}
	fmt.Fprintf(b, "\n## See also\n\n%s, [exit status](%s#exit-status), [environment](%[2]s#environment)\n", markdownLink(p.cmd.Parent()), Index)
}

func (b *block) markdown() string {
	switch b.kind {
	case heading:
		return "### " + markdownText(b.text) + "\n"
	case literal:
		return "```shell\n" + strings.Join(b.lines, "\n") + "\n```\n"
	case definitions:
		var out strings.Builder
		for _, i := range b.items {
			fmt.Fprintf(&out, "- %s: %s\n", markdownCode(i.term), markdownText(i.text))
		}
		return out.String()
	}
	return markdownText(b.text) + "\n"
}

func markdownLink(cmd *cobra.Command) string {
	return fmt.Sprintf("[%s](%s)", cmd.CommandPath(), markdownFile(cmd))
}

// markdownText returns a text as Markdown that shows it as it is, with code in it.
func markdownText(text string) string {
	escape := strings.NewReplacer(`\`, `\\`, "*", `\*`, "_", `\_`, "`", "\\`", "<", "&lt;", "&", "&amp;")
	return inline(text, markdownCode, escape.Replace)
}

func markdownCode(text string) string { return "`" + text + "`" }
