// Command walls lowers the numbers of walls.txt to what the code has and 3 % more, and prints what
// stands above them. With -print it prints what the code has.
package main

import (
	"flag"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"gpfit/tools/structure"
)

func main() {
	log.SetFlags(0)
	print := flag.Bool("print", false, "print the numbers of the code and change nothing")
	root := flag.String("root", "..", "folder of the repository")
	flag.Parse()
	if err := run(*root, *print); err != nil {
		log.Fatal(err)
	}
}

func run(root string, print bool) error {
	pkgs, err := structure.Load(root, "./...")
	if err != nil {
		return err
	}
	folders, imports, err := structure.Measure(root, pkgs)
	if err != nil {
		return err
	}
	walls, err := structure.ReadWalls(root)
	if err != nil {
		return err
	}
	if print {
		fmt.Print(structure.Walls(folders))
		return nil
	}
	walls = walls.Lowered(folders)
	if err := os.WriteFile(filepath.Join(root, structure.WallsPath), []byte(walls.String()), 0o644); err != nil {
		return err
	}
	for _, what := range walls.Check(folders, imports) {
		fmt.Println(what)
	}
	return nil
}
