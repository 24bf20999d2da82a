package link_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"

	"kerf/fleet/link"
)

// A service answers what a client asks first.
type service struct {
	workflowservice.UnimplementedWorkflowServiceServer
	key chan string // of each who asked
}

func (s service) GetSystemInfo(ctx context.Context, _ *workflowservice.GetSystemInfoRequest) (*workflowservice.GetSystemInfoResponse, error) {
	m, _ := metadata.FromIncomingContext(ctx)
	s.key <- strings.Join(m.Get("authorization"), ",")
	return &workflowservice.GetSystemInfoResponse{Capabilities: &workflowservice.GetSystemInfoResponse_Capabilities{}}, nil
}

// An authority signs certificates and writes them to files.
type authority struct {
	dir  string
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{dir: t.TempDir()}
	a.sign(t, "ca", "")
	return a
}

func (a *authority) path(name string) string { return filepath.Join(a.dir, name) }

// sign makes NAME.pem and NAME.key for a server of this name, or for a client.
func (a *authority) sign(t *testing.T, name, server string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, NotBefore: time.Now().Add(-time.Hour),
		NotAfter: time.Now().Add(time.Hour), ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}}
	if server != "" {
		c.DNSNames = []string{server}
	}
	if a.cert == nil {
		c.IsCA, c.BasicConstraintsValid, c.KeyUsage, a.cert, a.key = true, true, x509.KeyUsageCertSign, c, key
	}
	der, err := x509.CreateCertificate(rand.Reader, c, a.cert, &key.PublicKey, a.key)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	for end, b := range map[string]*pem.Block{".pem": {Type: "CERTIFICATE", Bytes: der}, ".key": {Type: "PRIVATE KEY", Bytes: secret}} {
		if err = os.WriteFile(a.path(name+end), pem.EncodeToMemory(b), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// An engine behind TLS is reached with its authority, its name and a certificate of the client, and not without
// any one of them; the API key goes along.
func TestTheEngineIsReachedOverTLS(t *testing.T) {
	a := newAuthority(t)
	a.sign(t, "server", "temporal.test")
	a.sign(t, "client", "")
	pair, err := tls.LoadX509KeyPair(a.path("server.pem"), a.path("server.key"))
	if err != nil {
		t.Fatal(err)
	}
	known := x509.NewCertPool()
	ca, err := os.ReadFile(a.path("ca.pem"))
	if err != nil || !known.AppendCertsFromPEM(ca) {
		t.Fatal(err)
	}
	g := grpc.NewServer(grpc.Creds(credentials.NewTLS(&tls.Config{Certificates: []tls.Certificate{pair},
		ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: known})))
	s := service{key: make(chan string, 9)}
	workflowservice.RegisterWorkflowServiceServer(g, s)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = g.Serve(l) }()
	t.Cleanup(g.Stop)
	all := link.Options{Address: l.Addr().String(), Namespace: "n", CA: a.path("ca.pem"), Cert: a.path("client.pem"),
		Key: a.path("client.key"), Server: "temporal.test", APIKey: "secret-key"}
	c, err := all.Dial()
	if err != nil {
		t.Fatal(err)
	}
	c.Close()
	if key := <-s.key; key != "Bearer secret-key" {
		t.Errorf("asked with the key %q", key)
	}
	if len(s.key) > 0 {
		t.Error("asked more than once")
	}
	var tries sync.WaitGroup // each waits for the connection to give up
	for what, change := range map[string]func(*link.Options){
		"authority":           func(o *link.Options) { o.CA = "" },
		"certificate":         func(o *link.Options) { o.Cert, o.Key = "", "" },
		"key of certificate":  func(o *link.Options) { o.Key = "" },
		"name":                func(o *link.Options) { o.Server = "other.test" },
		"file of authorities": func(o *link.Options) { o.CA = a.path("client.key") },
	} {
		o := all
		change(&o)
		tries.Go(func() {
			if c, err := o.Dial(); err == nil {
				c.Close()
				t.Errorf("reached without its %s", what)
			}
		})
	}
	tries.Wait()
	if len(s.key) > 0 {
		t.Error("somebody without all of it was answered")
	}
}
