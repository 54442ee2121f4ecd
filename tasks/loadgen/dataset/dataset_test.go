package dataset

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bflow.dev/bflow/runplan"
)

// write puts text into a file and returns its path.
func write(t testing.TB, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// list reads every row of a set, text, answer and length, as a conversation of turns.
func list(s *Set) string {
	var out []string
	for i := range int64(s.Rows) {
		var turns []string
		for turn := 0; ; turn++ {
			spec, ok := s.Turn(i, turn)
			if !ok {
				turns = append(turns, "and a last turn was missing")
				break
			}
			turns = append(turns, fmt.Sprintf("%s>%s:%d", spec.Text, spec.Answer, spec.Out))
			if spec.Last {
				break
			}
		}
		out = append(out, strings.Join(turns, "; "))
	}
	return strings.Join(out, " | ")
}

const sharegpt = `[
 {"id":"a","conversations":[{"from":"human","value":"one"},{"from":"gpt","value":"1 and"},{"from":"human","value":"two"},{"from":"gpt","value":"2"}]},
 {"id":"b","conversations":[{"from":"gpt","value":"no question"}]},
 {"id":"c","conversations":[{"from":"system","value":"s"},{"from":"user","value":"three"}]}
]`

func TestFormats(t *testing.T) {
	tests := []struct {
		name, format, text string
		prompt, output     string
		limit, turns       int
		want, wantErr      string
	}{
		{name: "a prompt per line, blank lines aside, whatever ends them", format: "text",
			text: "\ufeffone two\r\n\n three \nfour", want: "one two>:0 |  three >:0 | four>:0"},
		{name: "a limit takes the first", format: "text", text: "a\nb\nc\n", limit: 2, want: "a>:0 | b>:0"},
		{name: "what is no UTF-8 becomes the sign for it", format: "text", text: "a\xffb\n", want: "a\ufffdb>:0"},
		{name: "plain rows make turns one after the other", format: "text", text: "a\nb\nc\n", turns: 2,
			want: "a>:0; b>:0 | c>:0; a>:0 | b>:0; c>:0"},
		{name: "an empty file", format: "text", text: "\n", wantErr: "f: it holds no prompt"},
		{name: "a table with usual names", format: "csv",
			text: "\ufeffid,text,output_tokens\n1,\"a \"\"b\"\",\nc\",7\n2,d,\n", want: "a \"b\",\nc>:7 | d>:0"},
		{name: "a table with names given", format: "csv", text: "text,q,n\nx,a,12.0\n", prompt: "q",
			output: "n", want: "a>:12"},
		{name: "the first usual name wins", format: "csv", text: "question,prompt\nx,a\n", want: "a>:0"},
		{name: "a table without a prompt", format: "csv", text: "a,b\n1,2\n", wantErr: `f: it has no column prompt ` +
			`or text or input or question: name it with prompt_column; there are "a", "b"`},
		{name: "a table without the column asked", format: "csv", text: "prompt,b\n1,2\n", output: "n",
			wantErr: `f: it has no column n: name another output_column; there are "prompt", "b"`},
		{name: "a length that is none", format: "csv", text: "prompt,output_length\na,1\nb,many\n",
			wantErr: `f: line 3: "many" is not a number of tokens`},
		{name: "a row of another width", format: "csv", text: "prompt,b\na\n",
			wantErr: "f: record on line 2: wrong number of fields"},
		{name: "an empty cell", format: "csv", text: "prompt,b\na,1\n,2\n",
			wantErr: "f: line 3: the prompt is empty: remove the row"},
		{name: "objects in lines",
			format: "jsonl", text: "{\"prompt\":\"a\\nb\",\"output_tokens\":5}\n\n{\"prompt\":\"c\"," +
				"\"output_tokens\":null}\n{\"prompt\":\"d\",\"output_tokens\":\"9\"}\n", want: "a\nb>:5 | c>:0 | d>:9"},
		{name: "a line that is no object", format: "jsonl", text: "{\"prompt\":\"a\"}\n[1]\n",
			wantErr: "f: line 2: it is not a JSON object"},
		{name: "a line without the column", format: "jsonl", text: "{\"prompt\":\"a\"}\n{\"text\":\"b\"}\n",
			wantErr: `f: line 2: it has no "prompt", which the first line has`},
		{name: "a prompt that is no text", format: "jsonl", text: "{\"prompt\":[1]}\n",
			wantErr: `f: line 1: "prompt" is not a text`},
		{name: "half a length", format: "jsonl", text: "{\"prompt\":\"a\",\"output_length\":1.5}\n",
			wantErr: `f: line 1: "output_length": 1.5 is not a number of tokens`},
		{name: "the first question of a conversation", format: "sharegpt", text: sharegpt, want: "one>1 and:0 | three>:0"},
		{name: "turns of a conversation", format: "sharegpt", text: sharegpt, turns: 3,
			want: "one>1 and:0; two>2:0 | three>:0"},
		{name: "a limit counts conversations that ask", format: "sharegpt", text: sharegpt, limit: 2,
			want: "one>1 and:0 | three>:0"},
		{name: "conversations in lines", format: "sharegpt", text: `{"conversations":[{"from":"human","value":"a"}]}` +
			"\n" + `{"conversations":[{"from":"human","value":"b"}]}`, want: "a>:0 | b>:0"},
		{name: "a list cut short", format: "sharegpt", text: `[{"conversations":[{"from":"human","value":"a"}]}`,
			wantErr: "f: the list of conversations has no end"},
		{name: "a conversation that is none", format: "sharegpt", text: `[{"conversations":7}]`,
			wantErr: "f: conversation 1: json: cannot unmarshal"},
		{name: "no conversation that asks", format: "sharegpt", text: `[]`, wantErr: "f: it holds no prompt"},
		{name: "a file that is no Parquet", format: "parquet", text: "PAR1 but no more", wantErr: "f: it is no"},
		{name: "a format that nobody knows", format: "xml", text: "a", wantErr: `f: the format "xml" is not one of`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, err := Open(context.Background(), runplan.File{Format: tt.format, URL: write(t, "f", tt.text),
				PromptColumn: tt.prompt, OutputColumn: tt.output, Limit: tt.limit}, Options{Turns: tt.turns})
			if tt.wantErr != "" {
				if err == nil || !strings.HasPrefix(err.Error(), tt.wantErr) {
					t.Fatalf("error %v, want %s", err, tt.wantErr)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := list(s); got != tt.want {
				t.Errorf("got  %q\nwant %q", got, tt.want)
			}
		})
	}
}

// TestParquet reads files that Arrow wrote.
func TestParquet(t *testing.T) {
	for _, name := range []string{"arrow.zstd.parquet", "arrow.snappy.parquet"} {
		s, err := Open(context.Background(), runplan.File{Format: "parquet", URL: filepath.Join("testdata", name)}, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if s.Rows != 300 {
			t.Fatalf("%s: %d rows, want 300", name, s.Rows)
		}
		for i := range int64(300) {
			text, out := fmt.Sprintf("prompt number %d, \"quoted\" é", i), int(i%7)
			if i%50 == 0 {
				text = "the same text"
			}
			if i%3 == 0 {
				out = 0
			}
			if got, _ := s.Turn(i, 0); got.Text != text || got.Out != out || !got.Last {
				t.Fatalf("%s: row %d is %+v, want %q and %d", name, i, got, text, out)
			}
		}
		_, err = Open(context.Background(),
			runplan.File{Format: "parquet", URL: filepath.Join("testdata", name), PromptColumn: "tags"}, Options{})
		if err == nil || !strings.Contains(err.Error(), `its column "tags" holds lists`) {
			t.Errorf("%s: a column of lists: %v", name, err)
		}
		_, err = Open(context.Background(),
			runplan.File{Format: "parquet", URL: filepath.Join("testdata", name), PromptColumn: "id"}, Options{})
		if err == nil || !strings.Contains(err.Error(), "which is not a text") {
			t.Errorf("%s: a column of numbers: %v", name, err)
		}
	}
}

func TestAFileIsFetched(t *testing.T) {
	parquet, err := os.ReadFile("testdata/arrow.zstd.parquet")
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/p.txt":
			fmt.Fprint(w, "a\nb\n")
		case "/p.parquet":
			_, _ = w.Write(parquet)
		default:
			http.NotFound(w, r)
		}
	}))
	defer srv.Close()
	sum := func(b []byte) string { x := sha256.Sum256(b); return hex.EncodeToString(x[:]) }
	tests := []struct {
		name string
		file runplan.File
		rows int
		err  string
	}{
		{name: "with its checksum",
			file: runplan.File{Format: "text", URL: srv.URL + "/p.txt", SHA256: sum([]byte("a\nb\n"))}, rows: 2},
		{name: "the checksum is that of the whole, although one row is enough", file: runplan.File{Format: "text",
			Limit: 1, URL: srv.URL + "/p.txt", SHA256: "sha256:" + sum([]byte("a\nb\n"))}, rows: 1},
		{name: "with another's checksum", file: runplan.File{Format: "text", URL: srv.URL + "/p.txt", SHA256: sum(nil)},
			err: "the plan says e3b0c442"},
		{name: "Parquet is kept on disk meanwhile",
			file: runplan.File{Format: "parquet", URL: srv.URL + "/p.parquet", SHA256: sum(parquet)}, rows: 300},
		{name: "no such file; its query is nobody's business",
			file: runplan.File{Format: "text", URL: srv.URL + "/none?secret=1"}, err: `/none": HTTP 404`},
		{name: "another way", file: runplan.File{Format: "text", URL: "s3://b/p.txt"}, err: "a path or an https:// address"},
		{name: "no such path", file: runplan.File{Format: "text", URL: "/no/such.txt"},
			err: "opening the file of prompts: open /no/such.txt"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, err := Open(context.Background(), tt.file, Options{Client: srv.Client()})
			if tt.err != "" {
				if err == nil || !strings.Contains(err.Error(), tt.err) || strings.Contains(err.Error(), "secret") {
					t.Fatalf("error %v, want %s", err, tt.err)
				}
				return
			}
			if err != nil || s.Rows != tt.rows {
				t.Fatalf("%v, error %v, want %d rows", s, err, tt.rows)
			}
		})
	}
}

func TestTheShuffleFollowsTheSeed(t *testing.T) {
	var text strings.Builder
	for i := range 1000 {
		fmt.Fprintln(&text, i)
	}
	path := write(t, "f", text.String())
	read := func(seed int64, limit int) string {
		s, err := Open(context.Background(), runplan.File{Format: "text", URL: path, Shuffle: true, Limit: limit},
			Options{Seed: seed})
		if err != nil {
			t.Fatal(err)
		}
		return list(s)
	}
	if a, b := read(1, 0), read(1, 0); a != b {
		t.Error("one seed gave two orders")
	}
	if read(1, 0) == read(2, 0) {
		t.Error("two seeds gave one order")
	}
	if strings.Contains(read(1, 10), "10>") {
		t.Error("a row behind the limit was shuffled in")
	}
}

// endless is a file that never ends.
type endless struct{ line string }

func (e endless) Read(p []byte) (int, error) {
	return copy(p, strings.Repeat(e.line, len(p)/len(e.line)+1)), nil
}

func TestAHugeFileIsNotReadWhole(t *testing.T) {
	add := func(most int) func(row) error {
		n := 0
		return func(row) error {
			if n++; n >= most {
				return errEnough
			}
			return nil
		}
	}
	if err := parseJSONL(endless{"{\"prompt\":\"a\"}\n"}, columns{}, add(1000)); !errors.Is(err, errEnough) {
		t.Errorf("lines without end: %v", err)
	}
	if err := parseText(endless{"no end of a line "}, add(1)); err == nil || !strings.Contains(err.Error(), "too long") {
		t.Errorf("a line without end: %v", err)
	}
	if err := parseCSV(endless{"prompt,\""}, columns{}, add(1)); err == nil {
		t.Error("a cell without end is no error")
	}
	path := write(t, "f", strings.Repeat("a prompt\n", 1000))
	if _, err := Open(context.Background(),
		runplan.File{Format: "text", URL: path}, Options{MaxBytes: 4000}); err == nil ||
		!strings.Contains(err.Error(), "line 501: its prompts fill more than 0 MiB of memory: set limit") {
		t.Errorf("more than the memory: %v", err)
	}
}

func TestATurnAllocatesNothing(t *testing.T) {
	s, err := Open(context.Background(),
		runplan.File{Format: "text", URL: write(t, "f", strings.Repeat("a prompt\n", 1000))}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	i := int64(0)
	if n := testing.AllocsPerRun(1000, func() { _, _ = s.Turn(i, 0); i++ }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
