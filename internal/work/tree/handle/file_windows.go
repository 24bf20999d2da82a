package handle

import (
	"io"
	"os"
)

// File is an open regular file.
type File struct{ *os.File }

// Rewind makes the next read begin at the beginning.
func (f File) Rewind() error {
	_, err := f.Seek(0, io.SeekStart)
	return err
}

// WriteAll writes all of data.
func (f File) WriteAll(data []byte) error {
	_, err := f.Write(data)
	return err
}

// Lend gives the open file to use, which must neither close nor keep it.
func (f File) Lend(use func(*os.File) error) error { return use(f.File) }

// Sig is the signature of the open file.
func (f File) Sig() (Signature, error) {
	st, err := f.Stat()
	return st.Signature, err
}

// Stat tells about the open file.
func (f File) Stat() (Stat, error) {
	st, err := f.File.Stat()
	if err != nil {
		return Stat{}, err
	}
	return Stat{Signature: SignatureOf(st)}, nil
}
