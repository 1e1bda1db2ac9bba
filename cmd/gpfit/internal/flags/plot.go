package flags

import (
	"cmp"
	"context"
	"fmt"

	"github.com/spf13/pflag"

	"gpfit/cmd/gpfit/internal/exit"
	"gpfit/internal/plotting"
)

// Plot holds the flags of a picture: --plot, --plot-title and --size.
type Plot struct {
	// Path is the file, "" without a picture.
	Path, title, size string
	parsed            plotting.Size
}

// Add declares the flags. what says what the picture shows.
func (p *Plot) Add(s *pflag.FlagSet, what string) {
	s.StringVar(&p.Path, "plot", "", "also plot "+what+" in `FILE`, .svg, .png or .pdf")
	s.StringVar(&p.title, "plot-title", "", "`TITLE` of the plot, instead of a sentence that says what it shows")
	s.StringVar(&p.size, "size", "", "`SIZE` of the plot in centimetres, such as 16x11, or with a unit as in 800x600px")
	InGroup(s, "Output", "plot", "plot-title", "size")
}

// Check returns a usage error for flags that do not describe a picture.
func (p *Plot) Check() (err error) {
	switch {
	case p.Path == "" && p.title != "":
		return exit.Usagef("--plot-title %s: needs --plot FILE", p.title)
	case p.Path == "" && p.size != "":
		return exit.Usagef("--size %s: needs --plot FILE", p.size)
	case p.Path == "":
		return nil
	}
	if _, err := plotting.Format(p.Path); err != nil {
		return exit.Usagef("--plot %v", err)
	}
	if p.size == "" {
		return nil
	}
	if p.parsed, err = plotting.ParseSize(p.size); err != nil {
		return exit.Usagef("--size %v", err)
	}
	return nil
}

// Write draws the figure with the title and the size of the flags.
func (p *Plot) Write(ctx context.Context, f *plotting.Figure, replace bool) error {
	titled := *f
	titled.Title = cmp.Or(p.title, f.Title)
	if p.parsed != (plotting.Size{}) {
		titled.Size = p.parsed
	}
	if err := titled.Write(ctx, p.Path, replace); err != nil {
		return fmt.Errorf("--plot %s: %w", p.Path, err)
	}
	return nil
}
