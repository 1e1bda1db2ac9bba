// Command rooms prints the files of packages by floors, with as few upward references
// between them as possible, and lists these references:
//
//	go run ./internal/layers/rooms ./fit ./hyperopt
package main

import (
	"fmt"
	"os"
	"strings"

	"gpfit/internal/layers"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "rooms:", err)
		os.Exit(1)
	}
}

func run(patterns []string) error {
	pkgs, err := layers.Load(".", patterns...)
	if err != nil {
		return err
	}
	all, up := 0, 0
	for _, p := range pkgs {
		refs := layers.References(p)
		a := layers.Arrange(layers.Files(p), refs)
		fmt.Printf("%s: %d files, %d of %d references run up\n", p.PkgPath, len(p.GoFiles), len(a.Up), len(refs))
		for i, floor := range a.Floors {
			fmt.Printf("  %d  %s\n", i, strings.Join(floor, " "))
		}
		for _, r := range a.Up {
			fmt.Printf("  up: %s → %s: %s\n", r.From, r.To, strings.Join(r.Names, ", "))
		}
		all += len(refs)
		up += len(a.Up)
	}
	fmt.Printf("in all %d of %d references run up\n", up, all)
	return nil
}
