//go:build linux && amd64

package main

import (
	"bufio"
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
)

// routine is clock_gettime(clock in edi, timespec at rsi) by a system call, with seconds added where the clock is the
// wall clock, 0.
func routine(seconds int64) []byte {
	code := []byte{
		0xb8, 0xe4, 0, 0, 0, // mov eax, 228
		0x0f, 0x05, // syscall
		0x85, 0xff, // test edi, edi
		0x75, 0x0d, // jne over the next two
		0x48, 0xb9, // mov rcx, the seconds
	}
	code = binary.LittleEndian.AppendUint64(code, uint64(seconds))
	return append(code,
		0x48, 0x01, 0x0e, // add [rsi], rcx
		0xc3, // ret
	)
}

// shift has the wall clock of a process run so many seconds ahead, or behind, whatever it did before.
func shift(pid int, seconds int64) (err error) {
	memory, err := os.OpenFile(fmt.Sprintf("/proc/%d/mem", pid), os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, memory.Close()) }()
	from, until, err := shared(pid)
	if err != nil {
		return err
	}
	image := make([]byte, until-from)
	if _, err := memory.ReadAt(image, from); err != nil {
		return err
	}
	begin, err := clockIn(image)
	if err != nil {
		return err
	}
	code := routine(seconds)
	at := len(image) - len(code)
	jump := append([]byte{0xe9}, binary.LittleEndian.AppendUint32(nil, uint32(int32(at-begin-5)))...)
	if !bytes.Equal(image[begin:begin+len(jump)], jump) &&
		slices.ContainsFunc(image[at:], func(b byte) bool { return b != 0 }) {
		return errors.New("its vDSO has no room for another routine at its end")
	}
	// First what is jumped to, then the jump, which one write of less than a word replaces.
	if _, err := memory.WriteAt(code, from+int64(at)); err != nil {
		return err
	}
	_, err = memory.WriteAt(jump, from+int64(begin))
	return err
}

// shared is where a process has its vDSO.
func shared(pid int) (from, until int64, err error) {
	maps, err := os.Open(fmt.Sprintf("/proc/%d/maps", pid))
	if err != nil {
		return 0, 0, err
	}
	defer maps.Close()
	for lines := bufio.NewScanner(maps); lines.Scan(); {
		if strings.HasSuffix(lines.Text(), "[vdso]") {
			_, err := fmt.Sscanf(lines.Text(), "%x-%x", &from, &until)
			return from, until, err
		}
	}
	return 0, 0, errors.New("it has no vDSO")
}

// clockIn is where in a vDSO clock_gettime begins.
func clockIn(image []byte) (int, error) {
	file, err := elf.NewFile(bytes.NewReader(image))
	if err != nil {
		return 0, fmt.Errorf("reading its vDSO: %w", err)
	}
	symbols, err := file.DynamicSymbols()
	if err != nil {
		return 0, fmt.Errorf("reading the symbols of its vDSO: %w", err)
	}
	for _, s := range symbols {
		if s.Name == "__vdso_clock_gettime" {
			return int(s.Value), nil
		}
	}
	return 0, errors.New("its vDSO has no clock_gettime")
}
