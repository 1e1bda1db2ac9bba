// Command page writes docs/packages.md, the page that lists the packages.
package main

import (
	"fmt"
	"os"

	"gpfit/internal/layers"
)

func main() {
	text, err := layers.Page(".")
	if err == nil {
		err = os.WriteFile(layers.PagePath, []byte(text), 0o644)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "page:", err)
		os.Exit(1)
	}
}
