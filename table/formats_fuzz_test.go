package table_test

import (
	"testing"

	"gpfit/internal/tabletest"
)

const formatFiles = "testdata/formats/"

func FuzzNPY(f *testing.F) { tabletest.Fuzz(f, formatFiles+"*.npy", "\x93NUMPY") }

func FuzzNPZ(f *testing.F) { tabletest.Fuzz(f, formatFiles+"*.npz", "PK\x03\x04") }

func FuzzJSONLines(f *testing.F) { tabletest.Fuzz(f, formatFiles+"*.jsonl", "{") }
