// Command page writes packages.md, the page that lists the packages.
package main

import (
	"log"
	"os"
	"path/filepath"

	"gpfit/tools/structure"
)

func main() {
	log.SetFlags(0)
	const root = ".." // the command runs in the folder tools
	text, err := structure.Page(root)
	if err == nil {
		err = os.WriteFile(filepath.Join(root, structure.PagePath), []byte(text), 0o644)
	}
	if err != nil {
		log.Fatal(err)
	}
}
