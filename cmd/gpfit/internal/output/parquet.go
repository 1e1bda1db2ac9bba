package output

import (
	"io"
	"math"

	"github.com/parquet-go/parquet-go"

	"gpfit/internal/columns"
)

// newParquet returns an encoder that writes a Parquet file: text as strings, numbers as
// doubles, which are null in blank rows.
func newParquet(w io.Writer) columns.BlockEncoder { return &parquetEncoder{w: w} }

type parquetEncoder struct {
	w    io.Writer
	file *parquet.GenericWriter[any] // from the first block on
	rows []parquet.Row
}

func (e *parquetEncoder) Encode(b *columns.Block) error {
	if e.file == nil {
		e.file = parquet.NewGenericWriter[any](e.w, parquet.NewSchema("gpfit", schemaOf(b)), parquet.Compression(&parquet.Snappy))
	}
	text := len(b.Texts)
	for len(e.rows) < b.N {
		e.rows = append(e.rows, make(parquet.Row, text+len(b.Numbers)))
	}
	for i := range b.N {
		row := e.rows[i]
		for c, texts := range b.Texts {
			row[c] = parquet.ByteArrayValue([]byte(texts[i])).Level(0, 0, c)
		}
		for c, values := range b.Numbers {
			if v := values[i]; math.IsNaN(v) {
				row[text+c] = parquet.NullValue().Level(0, 0, text+c)
			} else {
				row[text+c] = parquet.DoubleValue(v).Level(0, 1, text+c)
			}
		}
	}
	_, err := e.file.WriteRows(e.rows[:b.N])
	return err
}

func (e *parquetEncoder) End() error {
	if e.file == nil {
		return nil
	}
	return e.file.Close()
}

// schemaOf returns the schema of a table with the columns of b, in their order.
func schemaOf(b *columns.Block) parquet.Node {
	g := orderedGroup{Group: parquet.Group{}}
	for _, name := range b.TextNames {
		g.add(name, parquet.String())
	}
	for _, name := range b.Names {
		g.add(name, parquet.Optional(parquet.Leaf(parquet.DoubleType)))
	}
	return g
}

// orderedGroup is a group whose fields keep their order; those of [parquet.Group] are
// sorted by name.
type orderedGroup struct {
	parquet.Group
	names []string
}

func (g *orderedGroup) add(name string, node parquet.Node) {
	g.Group[name] = node
	g.names = append(g.names, name)
}

// Fields implements [parquet.Node].
func (g orderedGroup) Fields() []parquet.Field {
	byName := map[string]parquet.Field{}
	for _, f := range g.Group.Fields() {
		byName[f.Name()] = f
	}
	fields := make([]parquet.Field, len(g.names))
	for i, name := range g.names {
		fields[i] = byName[name]
	}
	return fields
}
