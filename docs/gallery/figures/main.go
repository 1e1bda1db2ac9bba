// Command figures draws the figures of the gallery that no command of gpfit draws, into the
// folder docs/gallery:
//
//	go run -C docs/gallery/figures .
package main

import (
	"context"
	"log"
	"path/filepath"

	"gpfit/show/plotting"
)

// figures are the functions that draw each file from the folder with the tables.
var figures = map[string]func(data string) *plotting.Figure{
	"basis-fits.svg":    basisFits,
	"lasso-path.svg":    lassoPath,
	"minimum-norm.svg":  minimumNorm,
	"ridge-path.svg":    ridgePath,
	"spline-knots.svg":  splineKnots,
	"weights-plane.svg": weightsPlane,
}

func main() {
	if err := write(filepath.Join("..", "data"), ".."); err != nil {
		log.Fatal(err)
	}
}

// write draws all figures into a folder.
func write(data, folder string) error {
	for name, draw := range figures {
		if err := draw(data).Write(context.Background(), filepath.Join(folder, name), true); err != nil {
			return err
		}
	}
	return nil
}
