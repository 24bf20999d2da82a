// Package link connects to the engine: address, TLS, keys, encrypted payloads, metrics.
package link

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"strconv"
	"strings"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	sdklog "go.temporal.io/sdk/log"
	"go.temporal.io/sdk/temporal"
)

// Options say where the engine is and how it is reached.
type Options struct {
	Address   string // host:port
	Namespace string
	TLS       bool   // with the system's certificates
	CA        string // a file of certificates
	Cert, Key string // the files of the client's own
	Server    string // the name in the server's certificate, where it is not that of Address
	APIKey    string // of Temporal Cloud
	// Secret encrypts payloads and contents of the store; 32 bytes or nil.
	Secret  []byte
	Metrics client.MetricsHandler
	Log     *slog.Logger
}

// answers is how long the engine may take for its first answer.
const answers = 20 * time.Second

// Dial connects.
func (o Options) Dial() (client.Client, error) {
	if err := form(o.Address); err != nil {
		return nil, err
	}
	c := client.Options{HostPort: o.Address, Namespace: o.Namespace, MetricsHandler: o.Metrics, DataConverter: o.Converter(),
		FailureConverter: o.failures()}
	log := o.Log
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	c.ConnectionOptions.GetSystemInfoTimeout = answers
	c.Logger = sdklog.NewStructuredLogger(log)
	if o.APIKey != "" {
		c.Credentials = client.NewAPIKeyStaticCredentials(o.APIKey)
	}
	var err error
	if c.ConnectionOptions.TLS, err = o.tls(); err != nil {
		return nil, err
	}
	conn, err := client.Dial(c)
	if err != nil {
		return nil, fmt.Errorf("no engine at %s: %w; start one with kerf-fleet dev, or name one with --address", o.Address, o.why(err))
	}
	return conn, nil
}

// form says what is wrong with an address that the engine's client takes for a name.
func form(address string) error {
	if strings.Contains(address, ":///") { // a way of gRPC to find machines
		return nil
	}
	host, port, err := net.SplitHostPort(address)
	if n, e := strconv.ParseUint(port, 10, 16); err != nil || e != nil || n == 0 || strings.Contains(host, "/") {
		return fmt.Errorf("--address %s: give it as host:port; 7233 is Temporal's own port", address)
	}
	return nil
}

// why is why there is no connection. Of a name that nobody knows the client does not say it.
func (o Options) why(err error) error {
	host, _, _ := net.SplitHostPort(o.Address)
	ctx, stop := context.WithTimeout(context.Background(), answers)
	defer stop()
	var unknown *net.DNSError
	if _, e := net.DefaultResolver.LookupHost(ctx, host); host != "" && errors.As(e, &unknown) && unknown.IsNotFound {
		return fmt.Errorf("no machine has the name %s", host)
	}
	text := strings.TrimPrefix(err.Error(), "failed reaching server: ")
	if _, said, ok := strings.Cut(text, "connection error: desc = "); ok {
		if text, e := strconv.Unquote(said); e == nil {
			said = text
		}
		text = strings.TrimPrefix(said, "transport: Error while dialing: ")
	}
	if strings.Contains(text, "server preface") {
		return fmt.Errorf("what answers there is no Temporal service (%s)", text)
	}
	return errors.New(text)
}

// Converter encrypts payloads where there is a secret.
func (o Options) Converter() converter.DataConverter {
	if o.Secret == nil {
		return nil
	}
	return converter.NewCodecDataConverter(converter.GetDefaultDataConverter(), NewCodec(o.Secret))
}

// failures encrypts what errors say, too: they name files and revisions, and repeat what programs said.
func (o Options) failures() converter.FailureConverter {
	if o.Secret == nil {
		return nil
	}
	return temporal.NewDefaultFailureConverter(temporal.DefaultFailureConverterOptions{DataConverter: o.Converter(),
		EncodeCommonAttributes: true})
}

func (o Options) tls() (*tls.Config, error) {
	if !o.TLS && o.CA == "" && o.Cert == "" && o.APIKey == "" {
		return nil, nil
	}
	c := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: o.Server}
	if o.CA != "" {
		data, err := os.ReadFile(o.CA)
		if err != nil {
			return nil, err
		}
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(data) {
			return nil, fmt.Errorf("%s has no certificate", o.CA)
		}
	}
	if (o.Cert == "") != (o.Key == "") {
		return nil, errors.New("--tls-cert and --tls-key belong together")
	}
	if o.Cert != "" {
		pair, err := tls.LoadX509KeyPair(o.Cert, o.Key)
		if err != nil {
			return nil, err
		}
		c.Certificates = []tls.Certificate{pair}
	}
	return c, nil
}

// ReadSecret reads 32 bytes in hex or base64 from a file; an empty path is no secret.
func ReadSecret(path string) ([]byte, error) {
	if path == "" {
		return nil, nil
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	text := strings.TrimSpace(string(data))
	for _, decode := range []func(string) ([]byte, error){hex.DecodeString, base64.StdEncoding.DecodeString} {
		if key, err := decode(text); err == nil && len(key) == 32 {
			return key, nil
		}
	}
	return nil, fmt.Errorf("%s: want 32 bytes in hex or base64, as from `openssl rand -hex 32`", path)
}
