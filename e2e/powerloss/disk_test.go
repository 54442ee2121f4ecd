package powerloss

import (
	"context"
	"os"
	"slices"
	"sync"
	"syscall"
	"testing"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
)

// kind is what was done to the disk.
type kind int

const (
	write    kind = iota // data at off of file id
	truncate             // file id to off bytes
	fsync                // file or folder id is on disk
	link                 // id appears as name in folder dir
	unlink               // name in folder dir is gone
	rename               // id moves from name in folder dir to name2 in folder dir2
)

// op is one change of the disk, or a wait for it.
type op struct {
	kind      kind
	id        int
	folder    bool // of link: id is one
	off       int64
	data      []byte
	dir, dir2 int
	name      string
	name2     string
}

// root is the id of the topmost folder.
const root = 0

// disk is a file system in memory that remembers what was done to it.
type disk struct {
	mu   sync.Mutex
	last int // id
	ops  []op
}

func (d *disk) note(o op) { d.ops = append(d.ops, o) }

// mount mounts a disk at a new folder until the end of the test.
func mount(t *testing.T) (*disk, string) {
	t.Helper()
	at := t.TempDir()
	d := &disk{}
	server, err := fs.Mount(at, &folder{disk: d, id: root}, &fs.Options{
		MountOptions: fuse.MountOptions{DirectMountStrict: true, FsName: "powerloss"},
	})
	if err != nil {
		if os.Getenv("BFLOW_REQUIRE_MOUNT") == "1" {
			t.Fatalf("a disk that remembers cannot be mounted, and BFLOW_REQUIRE_MOUNT=1 asks for one: %v", err)
		}
		t.Skipf("a disk that remembers cannot be mounted: %v", err)
	}
	t.Cleanup(func() {
		if err := server.Unmount(); err != nil {
			t.Error(err)
		}
		server.Wait()
	})
	return d, at
}

// folder is a folder of a disk. The tree itself is kept by go-fuse.
type folder struct {
	fs.Inode
	disk *disk
	id   int
}

func (f *folder) add(ctx context.Context, name string, isFolder bool, mode uint32) (*fs.Inode, fs.InodeEmbedder) {
	d := f.disk
	d.last++
	d.note(op{kind: link, dir: f.id, name: name, id: d.last, folder: isFolder})
	var node fs.InodeEmbedder = &file{disk: d, id: d.last, mode: mode & 0o7777}
	attr := fs.StableAttr{Mode: syscall.S_IFREG}
	if isFolder {
		node, attr.Mode = &folder{disk: d, id: d.last}, syscall.S_IFDIR
	}
	inode := f.NewPersistentInode(ctx, node, attr)
	f.AddChild(name, inode, true)
	return inode, node
}

func (f *folder) Create(
	ctx context.Context, name string, _, mode uint32, _ *fuse.EntryOut,
) (*fs.Inode, fs.FileHandle, uint32, syscall.Errno) {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	inode, _ := f.add(ctx, name, false, mode)
	return inode, nil, 0, fs.OK
}

func (f *folder) Mkdir(ctx context.Context, name string, mode uint32, _ *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	inode, _ := f.add(ctx, name, true, mode)
	return inode, fs.OK
}

func (f *folder) Unlink(_ context.Context, name string) syscall.Errno {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	f.disk.note(op{kind: unlink, dir: f.id, name: name})
	return fs.OK
}

func (f *folder) Rmdir(ctx context.Context, name string) syscall.Errno {
	if child := f.GetChild(name); child != nil && len(child.Children()) > 0 {
		return syscall.ENOTEMPTY
	}
	return f.Unlink(ctx, name)
}

func (f *folder) Rename(
	_ context.Context, name string, parent fs.InodeEmbedder, name2 string, flags uint32,
) syscall.Errno {
	to, ok := parent.(*folder)
	child := f.GetChild(name)
	if !ok || child == nil || flags != 0 {
		return syscall.EINVAL
	}
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	f.disk.note(op{kind: rename, dir: f.id, name: name, dir2: to.id, name2: name2, id: idOf(child)})
	return fs.OK
}

func idOf(inode *fs.Inode) int {
	switch node := inode.Operations().(type) {
	case *file:
		return node.id
	case *folder:
		return node.id
	}
	return -1
}

func (f *folder) Fsync(context.Context, fs.FileHandle, uint32) syscall.Errno {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	f.disk.note(op{kind: fsync, id: f.id})
	return fs.OK
}

func (f *folder) Getattr(_ context.Context, _ fs.FileHandle, out *fuse.AttrOut) syscall.Errno {
	out.Mode = 0o755
	return fs.OK
}

func (f *folder) Setattr(ctx context.Context, h fs.FileHandle, _ *fuse.SetAttrIn, out *fuse.AttrOut) syscall.Errno {
	return f.Getattr(ctx, h, out)
}

func (f *folder) Statfs(_ context.Context, out *fuse.StatfsOut) syscall.Errno {
	const blocks = 1 << 20
	out.Bsize, out.Frsize, out.Blocks = 4096, 4096, blocks
	out.Bfree, out.Bavail, out.NameLen = blocks, blocks, 255
	out.Files, out.Ffree = blocks, blocks
	return fs.OK
}

// file is a file of a disk.
type file struct {
	fs.Inode
	disk *disk
	id   int
	mode uint32
	data []byte
}

func (f *file) Open(context.Context, uint32) (fs.FileHandle, uint32, syscall.Errno) {
	return nil, 0, fs.OK
}

func (f *file) Read(_ context.Context, _ fs.FileHandle, to []byte, off int64) (fuse.ReadResult, syscall.Errno) {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	from := min(off, int64(len(f.data)))
	n := copy(to, f.data[from:])
	return fuse.ReadResultData(to[:n]), fs.OK
}

func (f *file) Write(_ context.Context, _ fs.FileHandle, data []byte, off int64) (uint32, syscall.Errno) {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	o := op{kind: write, id: f.id, off: off, data: slices.Clone(data)}
	f.disk.note(o)
	f.data = o.change(f.data)
	return uint32(len(data)), fs.OK
}

func (f *file) Fsync(context.Context, fs.FileHandle, uint32) syscall.Errno {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	f.disk.note(op{kind: fsync, id: f.id})
	return fs.OK
}

func (f *file) Getattr(_ context.Context, _ fs.FileHandle, out *fuse.AttrOut) syscall.Errno {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	out.Mode, out.Size = f.mode, uint64(len(f.data))
	return fs.OK
}

func (f *file) Setattr(ctx context.Context, h fs.FileHandle, in *fuse.SetAttrIn, out *fuse.AttrOut) syscall.Errno {
	f.disk.mu.Lock()
	if mode, ok := in.GetMode(); ok {
		f.mode = mode & 0o7777
	}
	if size, ok := in.GetSize(); ok {
		o := op{kind: truncate, id: f.id, off: int64(size)}
		f.disk.note(o)
		f.data = o.change(f.data)
	}
	f.disk.mu.Unlock()
	return f.Getattr(ctx, h, out)
}

// change is what a write or a truncation makes of data.
func (o op) change(data []byte) []byte {
	if o.kind == truncate {
		if int64(len(data)) >= o.off {
			return data[:o.off:o.off]
		}
		return append(slices.Clone(data), make([]byte, o.off-int64(len(data)))...)
	}
	if end := o.off + int64(len(o.data)); int64(len(data)) < end {
		data = append(data, make([]byte, end-int64(len(data)))...)
	}
	copy(data[o.off:], o.data)
	return data
}
