package bounded

import (
	"bufio"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
)

func TestNoMoreIsReadThanThereIsRoomFor(t *testing.T) {
	for _, row := range []struct {
		name, text string
		limit      int64
		fails      string
	}{
		{name: "nothing", limit: 4},
		{name: "as much as there is room for", text: "1234", limit: 4},
		{name: "one byte more", text: strings.Repeat("x", 1025), limit: 1 << 10, fails: "it is longer than 1 KiB"},
		{name: "much more", text: strings.Repeat("x", 3<<20), limit: 2 << 20, fails: "it is longer than 2 MiB"},
	} {
		for how, r := range map[string]io.Reader{"at once": strings.NewReader(row.text),
			"byte by byte":          iotest.OneByteReader(strings.NewReader(row.text)),
			"the end with the last": iotest.DataErrReader(strings.NewReader(row.text))} {
			data, err := ReadAll(r, row.limit)
			var long *TooLongError
			switch {
			case row.fails == "" && (err != nil || string(data) != row.text):
				t.Errorf("%s, %s: %q, %v", row.name, how, data, err)
			case row.fails != "" && (!errors.As(err, &long) || err.Error() != row.fails || data != nil):
				t.Errorf("%s, %s: %d bytes, %v", row.name, how, len(data), err)
			}
		}
	}
	if _, err := ReadAll(iotest.ErrReader(io.ErrClosedPipe), 4); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("a reader that fails: %v", err)
	}
}

func TestALongLineIsCutAndTheNextIsWhole(t *testing.T) {
	in := bufio.NewReaderSize(strings.NewReader("short\n"+strings.Repeat("long", 100)+"\n\nlast"), 16)
	for _, want := range []string{"short\n", strings.Repeat("long", 5), "\n"} {
		if got, err := ReadLine(in, 20); got != want || err != nil {
			t.Errorf("%q, %v; want %q", got, err, want)
		}
	}
	if got, err := ReadLine(in, 20); got != "last" || !errors.Is(err, io.EOF) {
		t.Errorf("at the end: %q, %v", got, err)
	}
}

func TestAFileIsReadAsFarAsThereIsRoom(t *testing.T) {
	name := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(name, []byte("1234"), 0o600); err != nil {
		t.Fatal(err)
	}
	if data, err := ReadFile(name, 4); err != nil || string(data) != "1234" {
		t.Errorf("a file that fits: %q, %v", data, err)
	}
	var long *TooLongError
	if _, err := ReadFile(name, 3); !errors.As(err, &long) {
		t.Errorf("a file that is longer: %v", err)
	}
	if _, err := ReadFile(name+"x", 3); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}
}
