package fit

import (
	"fmt"
	"strings"

	"gpfit/feature"
	"gpfit/internal/textform"
)

// EncodingText returns lines for people that say how the columns of a table were read;
// none if all are numbers.
func EncodingText(e *feature.Encoding) string {
	if e == nil {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "\n%-22s read as\n", "column")
	for i := range e.Columns {
		fmt.Fprintf(&b, "%-22s %s\n", textform.Printable(e.Columns[i].Name, 40), e.Columns[i].Text())
	}
	if e.Decimal != "" {
		b.WriteString("The decimal sign is a comma.\n")
	}
	return b.String()
}
