package history

import (
	"encoding/base64"
	"strings"

	"kerf/internal/model"
)

// The forms of an image: as it travels, and as a rollout names it.
const (
	dataScheme = "data:"
	blobScheme = "blob:"
	base64Mark = ";base64,"
)

// ImageData takes a data: URL apart. It reports false for anything that could
// not be put together again byte for byte.
func ImageData(url string) (kind string, data []byte, ok bool) {
	rest, ok := strings.CutPrefix(url, dataScheme)
	if !ok {
		return "", nil, false
	}
	kind, text, ok := strings.Cut(rest, base64Mark)
	if !ok || strings.ContainsAny(kind, ",; ") {
		return "", nil, false
	}
	data, err := base64.StdEncoding.DecodeString(text)
	if err != nil || base64.StdEncoding.EncodeToString(data) != text {
		return "", nil, false
	}
	return kind, data, true
}

// ImageURL is the inverse of ImageData.
func ImageURL(kind string, data []byte) string {
	return dataScheme + kind + base64Mark + base64.StdEncoding.EncodeToString(data)
}

// ImageName is how a rollout names an image that is kept as a file.
func ImageName(kind, name string) string { return blobScheme + kind + ";" + name }

// RestoreImages puts the images back that items only name. One that is gone is
// replaced by words.
func RestoreImages(items []*model.Item, load func(name string) ([]byte, error)) {
	for _, it := range items {
		for i, p := range it.Content {
			rest, ok := strings.CutPrefix(p.ImageURL, blobScheme)
			if !ok {
				continue
			}
			kind, name, _ := strings.Cut(rest, ";")
			data, err := load(name)
			if err != nil {
				it.Content[i] = model.Part{Text: "(an image that is no longer kept)"}
				continue
			}
			it.Content[i].ImageURL = ImageURL(kind, data)
		}
	}
}
