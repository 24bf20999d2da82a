// Package picture makes images as small as model providers want them.
package picture

import (
	"bytes"
	"encoding/base64"
	"image"
	"image/gif"
	"image/jpeg"
	"image/png"
	"strings"

	"golang.org/x/image/draw"
	"golang.org/x/image/webp"
)

// Limits are those of a provider.
type Limits struct {
	Side  int // of the longer side, in pixels
	Bytes int // of the file, before base64
}

// maxPixels bounds what is decoded; a small file can claim to be huge.
const maxPixels = 64 << 20

// format is a kind of image that models take.
type format struct {
	decode func([]byte) (image.Image, error)
	config func([]byte) (image.Config, error)
}

func formatOf(mime string) (format, bool) {
	switch mime {
	case "image/png":
		return format{func(b []byte) (image.Image, error) { return png.Decode(bytes.NewReader(b)) },
			func(b []byte) (image.Config, error) { return png.DecodeConfig(bytes.NewReader(b)) }}, true
	case "image/jpeg", "image/jpg":
		return format{func(b []byte) (image.Image, error) { return jpeg.Decode(bytes.NewReader(b)) },
			func(b []byte) (image.Config, error) { return jpeg.DecodeConfig(bytes.NewReader(b)) }}, true
	case "image/gif":
		return format{func(b []byte) (image.Image, error) { return gif.Decode(bytes.NewReader(b)) },
			func(b []byte) (image.Config, error) { return gif.DecodeConfig(bytes.NewReader(b)) }}, true
	case "image/webp":
		return format{func(b []byte) (image.Image, error) { return webp.Decode(bytes.NewReader(b)) },
			func(b []byte) (image.Config, error) { return webp.DecodeConfig(bytes.NewReader(b)) }}, true
	}
	return format{}, false
}

// Fit returns a data: URL of the image in url that is within the limits. What is
// already within them, is no data: URL, or cannot be read stays as it is. The
// same image always gives the same bytes.
func Fit(url string, l Limits) string {
	mime, data, ok := strings.Cut(strings.TrimPrefix(url, "data:"), ";base64,")
	f, known := formatOf(mime)
	if !ok || !known || !strings.HasPrefix(url, "data:") {
		return url
	}
	raw, err := base64.StdEncoding.DecodeString(data)
	if err != nil {
		return url
	}
	c, err := f.config(raw)
	if err != nil || c.Width <= 0 || c.Height <= 0 || c.Width > maxPixels/c.Height {
		return url
	}
	if max(c.Width, c.Height) <= l.Side && len(raw) <= l.Bytes {
		return url
	}
	img, err := f.decode(raw)
	if err != nil {
		return url
	}
	for side := min(l.Side, max(c.Width, c.Height)); side >= 64; side = side * 3 / 4 {
		small := scale(img, side)
		if mime, out := encode(small, l.Bytes); out != nil {
			return "data:" + mime + ";base64," + base64.StdEncoding.EncodeToString(out)
		}
	}
	return url
}

// scale makes the longer side of img at most side pixels.
func scale(img image.Image, side int) image.Image {
	b := img.Bounds()
	long := max(b.Dx(), b.Dy())
	if long <= side {
		return img
	}
	w, h := max(b.Dx()*side/long, 1), max(b.Dy()*side/long, 1)
	dst := image.NewNRGBA(image.Rect(0, 0, w, h))
	draw.CatmullRom.Scale(dst, dst.Bounds(), img, b, draw.Src, nil)
	return dst
}

// encode writes img as a PNG if that fits, because text stays sharp in it, or
// else as a JPEG; nil if neither fits.
func encode(img image.Image, most int) (mime string, out []byte) {
	var b bytes.Buffer
	if png.Encode(&b, img) == nil && b.Len() <= most {
		return "image/png", b.Bytes()
	}
	b.Reset()
	if jpeg.Encode(&b, img, &jpeg.Options{Quality: 85}) == nil && b.Len() <= most {
		return "image/jpeg", b.Bytes()
	}
	return "", nil
}
