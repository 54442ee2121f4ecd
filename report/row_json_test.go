package report

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestARowIsWrittenAsEncodingJSONDoes(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	rows := []Row{{}, filledRow(rng, 1)}
	for range 2000 {
		rows = append(rows, filledRow(rng, rng.Float64()))
	}
	for _, r := range rows {
		want, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		if got := r.AppendJSON(nil); string(got) != string(want) {
			t.Fatalf("row\n%s\nwant\n%s", got, want)
		}
	}
}

func TestARowIsReadAsEncodingJSONDoes(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	lines := []string{`{}`, `{"id":"a"}`, ` {"id": "a"} `, `{"id":"a","unknown":[{"x":1}]}`,
		`{"ID":"a","tokens_in":null}`, `{"t_end_ns":1e3}`,
		`{"t_end_ns":12345678901234567890}`, `{"stage":01}`, `{"id":"a"`, `{"id":"a",}`, `{"id":1}`,
		`{"stage":1.5}`, `{"gaps_us":[]}`,
		`{"slo_missed":["a","b"],"slo_ok":false}`, `{"conn_reused":tru}`, `{"itl_max_ms":1.5.5}`,
		`{"stage":2,"stage":3}`, `{"stage":1}}`}
	for range 2000 {
		row := filledRow(rng, rng.Float64())
		lines = append(lines, string(row.AppendJSON(nil)))
	}
	var p rowParser
	for _, line := range lines {
		var got, want Row
		wantErr, err := json.Unmarshal([]byte(line), &want), p.decode([]byte(line), &got)
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); (err != nil) != (wantErr != nil) || err == nil && diff != "" {
			t.Fatalf("%s: error %v, want %v (-want +got):\n%s", line, err, wantErr, diff)
		}
	}
}

// filledRow has a value in each column with the given probability: also one that is added to Row later.
func filledRow(rng *rand.Rand, share float64) Row {
	var r Row
	v := reflect.ValueOf(&r).Elem()
	for i := range v.NumField() {
		if rng.Float64() < share {
			fill(rng, v.Field(i))
		}
	}
	return r
}

func fill(rng *rand.Rand, v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(rng, v.Elem())
	case reflect.Int, reflect.Int32, reflect.Int64:
		v.SetInt(rng.Int64N(1<<(1+rng.IntN(31))) - 3)
	case reflect.Bool:
		v.SetBool(rng.IntN(2) == 0)
	case reflect.String:
		v.SetString([]string{"ok", `say "so"`, "a<b>&c", "line\nfeed\u2028", "é\xffx", `back\slash`, "\x01"}[rng.IntN(7)])
	case reflect.Float64:
		v.SetFloat([]float64{0, 1.5, 1e-7, 1e300, rng.Float64(), float64(rng.IntN(1e9)) / 1000, float64(rng.IntN(1e9)) / 1e6,
			-2.5, 1e21, 123456789.123457, math.SmallestNonzeroFloat64, 1e-6, rng.NormFloat64() * 1e9}[rng.IntN(13)])
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), rng.IntN(3), 3))
		for i := range v.Len() {
			fill(rng, v.Index(i))
		}
	default:
		panic("a column of a new kind: " + v.Kind().String())
	}
}
