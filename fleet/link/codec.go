package link

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"errors"

	common "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/converter"
	"google.golang.org/protobuf/proto"
)

// encoding is how an encrypted payload is marked.
const encoding = "binary/kerf-aes256gcm"

// codec encrypts whole payloads, so that the engine sees neither words nor types.
type codec struct{ seal cipher.AEAD }

// NewCodec makes one of a key of 32 bytes.
func NewCodec(key []byte) converter.PayloadCodec {
	block, err := aes.NewCipher(key)
	if err != nil {
		return broken{err}
	}
	seal, err := cipher.NewGCM(block)
	if err != nil {
		return broken{err}
	}
	return codec{seal}
}

// Encode is [converter.PayloadCodec].
func (c codec) Encode(all []*common.Payload) ([]*common.Payload, error) {
	out := make([]*common.Payload, len(all))
	for i, p := range all {
		data, err := proto.Marshal(p)
		if err != nil {
			return nil, err
		}
		nonce := make([]byte, c.seal.NonceSize())
		if _, err = rand.Read(nonce); err != nil {
			return nil, err
		}
		out[i] = &common.Payload{Metadata: map[string][]byte{converter.MetadataEncoding: []byte(encoding)},
			Data: c.seal.Seal(nonce, nonce, data, []byte(encoding))}
	}
	return out, nil
}

// Decode is [converter.PayloadCodec]. Payloads that are not encrypted are refused, so that
// nobody slips in a task without the key.
func (c codec) Decode(all []*common.Payload) ([]*common.Payload, error) {
	out := make([]*common.Payload, len(all))
	for i, p := range all {
		n := c.seal.NonceSize()
		if string(p.Metadata[converter.MetadataEncoding]) != encoding || len(p.Data) < n {
			return nil, errors.New("a payload is not encrypted with the fleet's key")
		}
		data, err := c.seal.Open(nil, p.Data[:n], p.Data[n:], []byte(encoding))
		if err != nil {
			return nil, errors.New("a payload is encrypted with another key")
		}
		out[i] = new(common.Payload)
		if err = proto.Unmarshal(data, out[i]); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// broken is a codec of a key that cannot be one.
type broken struct{ err error }

func (b broken) Encode([]*common.Payload) ([]*common.Payload, error) { return nil, b.err }
func (b broken) Decode([]*common.Payload) ([]*common.Payload, error) { return nil, b.err }
