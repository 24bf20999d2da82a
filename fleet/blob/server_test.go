package blob_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"kerf/fleet/blob"
)

// The keys of the servers below.
const (
	access = "fleet-test-key"
	secret = "fleet-test-secret"
)

// A program that serves S3 from a directory, over TLS. Args has its arguments, of which DIR, ADDRESS and CERTS are
// replaced; CERTS has public.crt and private.key.
type program struct {
	program string
	args    []string
	env     []string
	nobody  string // what it calls a key that it does not know
}

var servers = []program{
	{"versitygw", strings.Fields("--access " + access + " --secret " + secret +
		" --port ADDRESS --cert CERTS/public.crt --key CERTS/private.key posix DIR"), nil, "XAdminUserNotFound"},
	{"minio", strings.Fields("server --quiet --address ADDRESS --certs-dir CERTS DIR"),
		[]string{"MINIO_ROOT_USER=" + access, "MINIO_ROOT_PASSWORD=" + secret}, "InvalidAccessKeyId"},
}

// start starts the server and makes the bucket b in it. The environment has its keys and trusts its certificate.
func (p program) start(t *testing.T, certs string) (address string) {
	t.Helper()
	dir := t.TempDir()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	at := l.Addr().String()
	var args []string
	for _, a := range p.args {
		args = append(args, strings.NewReplacer("DIR", dir, "ADDRESS", at, "CERTS", certs).Replace(a))
	}
	cmd := exec.Command(p.program, args...)
	cmd.Env = append(append(os.Environ(), "HOME="+t.TempDir()), p.env...)
	log, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout, cmd.Stderr = log, log
	if err = cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		log.Close()
		if data, _ := os.ReadFile(log.Name()); t.Failed() {
			t.Logf("%s: %s", p.program, data)
		}
	})
	t.Setenv("AWS_ACCESS_KEY_ID", access)
	t.Setenv("AWS_SECRET_ACCESS_KEY", secret)
	t.Setenv("AWS_CA_BUNDLE", filepath.Join(certs, "public.crt"))
	endpoint := "https://" + at
	c, err := config.LoadDefaultConfig(context.Background(), config.WithRegion("us-east-1"))
	if err != nil {
		t.Fatal(err)
	}
	client := s3.NewFromConfig(c, func(o *s3.Options) { o.BaseEndpoint, o.UsePathStyle = &endpoint, true })
	name := "bucket"
	for late := time.Now().Add(2 * time.Minute); ; time.Sleep(100 * time.Millisecond) {
		_, err = client.CreateBucket(context.Background(), &s3.CreateBucketInput{Bucket: &name})
		if err == nil {
			return "s3://bucket/deep/prefix?endpoint=" + endpoint
		}
		if time.Now().After(late) {
			t.Fatal(p.program, err)
		}
	}
}

// certificate makes one for this machine, and its key, in a directory.
func certificate(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "store"}, IsCA: true,
		BasicConstraintsValid: true, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, DNSNames: []string{"localhost"}}
	der, err := x509.CreateCertificate(rand.Reader, c, c, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	for name, block := range map[string]*pem.Block{"public.crt": {Type: "CERTIFICATE", Bytes: der},
		"private.key": {Type: "PRIVATE KEY", Bytes: private}} {
		if err = os.WriteFile(filepath.Join(dir, name), pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// What will not help to try again is told as such, in words; a store that is away is not.
func TestAStoreThatRefuses(t *testing.T) {
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
	ran := 0
	for _, p := range servers {
		if _, err := exec.LookPath(p.program); err != nil {
			continue
		}
		ran++
		t.Run(p.program, func(t *testing.T) {
			good := p.start(t, certificate(t))
			tried := func() error {
				s, err := blob.Open(context.Background(), good, nil)
				if err != nil {
					t.Fatal(err)
				}
				_, put := s.Put(context.Background(), []byte("a"))
				err = s.Try(context.Background())
				if (put == nil) != (err == nil) {
					t.Errorf("put says %v, and try %v", put, err)
				}
				return err
			}
			if err := tried(); err != nil {
				t.Fatal(err)
			}
			refused := func(what, word string) {
				if err := tried(); !errors.Is(err, blob.ErrRefused) || !strings.Contains(err.Error(), word) {
					t.Errorf("%s: %v", what, err)
				}
			}
			was := good
			good = strings.Replace(good, "s3://bucket/", "s3://none-such/", 1)
			refused("another bucket", "NoSuchBucket")
			good = was
			t.Setenv("AWS_SECRET_ACCESS_KEY", "another")
			refused("another secret", "SignatureDoesNotMatch")
			t.Setenv("AWS_SECRET_ACCESS_KEY", secret)
			t.Setenv("AWS_ACCESS_KEY_ID", "nobody")
			refused("another key", p.nobody)
			t.Setenv("AWS_ACCESS_KEY_ID", access)
			t.Setenv("AWS_CA_BUNDLE", "")
			refused("a certificate that nobody knows", "its certificate is not trusted")
		})
	}
	t.Run("none", func(t *testing.T) {
		t.Setenv("AWS_ACCESS_KEY_ID", "")
		t.Setenv("AWS_SECRET_ACCESS_KEY", "")
		t.Setenv("HOME", t.TempDir())
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		l.Close()
		at := fmt.Sprintf("s3://b/x?endpoint=http://%s", l.Addr())
		s, err := blob.Open(context.Background(), at, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err = s.Try(context.Background()); !errors.Is(err, blob.ErrRefused) || !strings.Contains(err.Error(), "there are no keys") {
			t.Errorf("no keys: %v", err)
		}
		t.Setenv("AWS_ACCESS_KEY_ID", "k")
		t.Setenv("AWS_SECRET_ACCESS_KEY", "s")
		if s, err = blob.Open(context.Background(), at, nil); err != nil {
			t.Fatal(err)
		}
		if err = s.Try(context.Background()); err == nil || errors.Is(err, blob.ErrRefused) || !strings.Contains(err.Error(), "connection refused") {
			t.Errorf("nobody is there: %v", err)
		}
	})
	if ran == 0 {
		t.Log("neither versitygw nor minio is on PATH")
	}
}
