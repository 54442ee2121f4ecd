package prompt

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	stdimage "image"
	"image/png"

	"bflow.dev/bflow/runplan"
)

// image is one picture of the pool.
type image struct {
	part []byte // of a message's content
	sum  [sha256.Size]byte
}

// Bounds of the pool of images: so many bytes, at least two different ones and the most of one request.
const (
	imagesBytes = 24 << 20
	imagesMost  = 64
	imagesLeast = 2
)

// makeImages returns a pool of images of random pixels, which requests take in turn.
func makeImages(seed int64, want runplan.Images) []image {
	if want.Count <= 0 || want.Width <= 0 || want.Height <= 0 {
		return nil
	}
	each := want.Width*want.Height*4 + 1
	n := max(min(imagesBytes/each, imagesMost), imagesLeast, want.Count)
	out := make([]image, 0, n)
	for i := range n {
		out = append(out, makeImage(seed, i, want.Width, want.Height))
	}
	return out
}

func makeImage(seed int64, number, width, height int) image {
	g := newDraw(seed, 0, int64(number), 0).generator(purposeImages)
	picture := stdimage.NewRGBA(stdimage.Rect(0, 0, width, height))
	for i := 0; i < len(picture.Pix); i += 4 {
		x := g.Uint64()
		picture.Pix[i], picture.Pix[i+1] = byte(x), byte(x>>8)
		picture.Pix[i+2], picture.Pix[i+3] = byte(x>>16), 0xff
	}
	var file bytes.Buffer
	// Noise cannot be compressed: trying would only take time. A buffer takes every write.
	_ = (&png.Encoder{CompressionLevel: png.NoCompression}).Encode(&file, picture)
	part := []byte(`{"type":"image_url","image_url":{"url":"data:image/png;base64,`)
	part = base64.StdEncoding.AppendEncode(part, file.Bytes())
	return image{part: append(part, `"}}`...), sum: sha256.Sum256(picture.Pix)}
}

// image returns image i of a turn.
func (s *Source) image(pl *plan, i int) *image {
	g := pl.draw.generator(purposeImages)
	return &s.images[(below(&g, uint64(len(s.images)))+i)%len(s.images)]
}
