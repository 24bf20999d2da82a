package picture_test

import (
	"bytes"
	"encoding/base64"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"math/rand/v2"
	"strings"
	"testing"

	"kerf/internal/model/picture"
)

var limits = picture.Limits{Side: 200, Bytes: 60_000}

// noise is an image that compresses badly.
func noise(w, h int) image.Image {
	r := rand.New(rand.NewPCG(1, 2))
	img := image.NewNRGBA(image.Rect(0, 0, w, h))
	for i := range img.Pix {
		img.Pix[i] = byte(r.Uint32())
	}
	return img
}

func plain(w, h int) image.Image {
	img := image.NewNRGBA(image.Rect(0, 0, w, h))
	for i := range w * h {
		img.Set(i%w, i/w, color.NRGBA{R: 9, A: 255})
	}
	return img
}

func pngURL(img image.Image) string {
	var b bytes.Buffer
	_ = png.Encode(&b, img) // memory takes everything
	return "data:image/png;base64," + base64.StdEncoding.EncodeToString(b.Bytes())
}

func jpegURL(img image.Image) string {
	var b bytes.Buffer
	_ = jpeg.Encode(&b, img, nil)
	return "data:image/jpeg;base64," + base64.StdEncoding.EncodeToString(b.Bytes())
}

func TestFit(t *testing.T) {
	for name, url := range map[string]string{"small": pngURL(plain(10, 10)), "link": "https://example.test/a.png",
		"nonsense":   "data:image/png;base64,AAAA",
		"not base64": "data:image/png;base64,%%%", "other kind": "data:image/svg+xml;base64,QUJD", "empty": ""} {
		if got := picture.Fit(url, limits); got != url {
			t.Errorf("%s changed", name)
		}
	}
	for name, tt := range map[string]struct {
		url  string
		w, h int
		mime string
	}{
		"wide":      {pngURL(plain(800, 100)), 200, 25, "image/png"},
		"tall":      {jpegURL(plain(100, 800)), 25, 200, "image/png"},
		"very thin": {pngURL(plain(5000, 2)), 200, 1, "image/png"},
		"noisy":     {jpegURL(noise(600, 600)), 200, 200, "image/jpeg"},
		"heavy":     {pngURL(noise(200, 200)), 200, 200, "image/jpeg"},
	} {
		got := picture.Fit(tt.url, limits)
		mime, data, _ := strings.Cut(strings.TrimPrefix(got, "data:"), ";base64,")
		raw, err := base64.StdEncoding.DecodeString(data)
		c, _, err2 := image.DecodeConfig(bytes.NewReader(raw))
		if err != nil || err2 != nil || mime != tt.mime || c.Width != tt.w || c.Height != tt.h || len(raw) > limits.Bytes {
			t.Errorf("%s: %s %dx%d, %d bytes, %v %v", name, mime, c.Width, c.Height, len(raw), err, err2)
		}
		if again := picture.Fit(tt.url, limits); again != got {
			t.Errorf("%s: other bytes the second time", name)
		}
	}
}

// A file that claims to be huge is not decoded.
func TestBomb(t *testing.T) {
	url := pngURL(plain(10, 10))
	raw, _ := base64.StdEncoding.DecodeString(strings.TrimPrefix(url, "data:image/png;base64,"))
	copy(raw[16:24], []byte{0x7f, 0xff, 0xff, 0xff, 0x7f, 0xff, 0xff, 0xff})
	bomb := "data:image/png;base64," + base64.StdEncoding.EncodeToString(raw)
	if picture.Fit(bomb, limits) != bomb {
		t.Error("changed")
	}
}
