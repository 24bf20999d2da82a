package blob

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// S3 is a bucket of an S3-compatible store. Keys and region come from where the AWS tools
// look for them.
type S3 struct {
	client       *s3.Client
	name, prefix string
}

// NewS3 opens a bucket. Endpoint is the address of a store other than AWS.
func NewS3(ctx context.Context, bucket, prefix, endpoint string) (*S3, error) {
	c, err := config.LoadDefaultConfig(ctx)
	if err != nil {
		return nil, fmt.Errorf("the settings for S3: %w", err)
	}
	if c.Region == "" {
		c.Region = "us-east-1" // stores without regions take any
	}
	client := s3.NewFromConfig(c, func(o *s3.Options) {
		if endpoint != "" {
			o.BaseEndpoint, o.UsePathStyle = &endpoint, true
			// Not every store knows the checksums that AWS has besides; contents are checked by their hashes.
			o.RequestChecksumCalculation = aws.RequestChecksumCalculationWhenRequired
			o.ResponseChecksumValidation = aws.ResponseChecksumValidationWhenRequired
		}
	})
	return &S3{client: client, name: bucket, prefix: prefix}, nil
}

// Write is [Bucket].
func (b *S3) Write(ctx context.Context, name string, data []byte) error {
	_, err := b.client.PutObject(ctx, &s3.PutObjectInput{
		Bucket: &b.name, Key: aws.String(b.prefix + name), Body: bytes.NewReader(data)})
	return told(name, err)
}

// Read is [Bucket].
func (b *S3) Read(ctx context.Context, name string, limit int64) ([]byte, error) {
	out, err := b.client.GetObject(ctx, &s3.GetObjectInput{Bucket: &b.name, Key: aws.String(b.prefix + name)})
	if err != nil {
		return nil, told(name, err)
	}
	defer out.Body.Close()
	return readAtMost(out.Body, name, limit)
}

// Stat is [Bucket].
func (b *S3) Stat(ctx context.Context, name string) (Object, error) {
	out, err := b.client.HeadObject(ctx, &s3.HeadObjectInput{Bucket: &b.name, Key: aws.String(b.prefix + name)})
	if err != nil {
		return Object{}, told(name, err)
	}
	return line(name, out.ContentLength, out.LastModified), nil
}

// line is an object as the store tells of it.
func line(name string, size *int64, written *time.Time) Object {
	return Object{Name: name, Size: aws.ToInt64(size), Age: int64(time.Since(aws.ToTime(written)).Seconds())}
}

// List is [Bucket].
func (b *S3) List(ctx context.Context, prefix, after string, yield func(Object) error) error {
	in := &s3.ListObjectsV2Input{Bucket: &b.name, Prefix: aws.String(b.prefix + prefix)}
	if after != "" {
		in.StartAfter = aws.String(b.prefix + after)
	}
	for pages := s3.NewListObjectsV2Paginator(b.client, in); pages.HasMorePages(); {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return told(prefix, err)
		}
		for _, o := range page.Contents {
			name := aws.ToString(o.Key)[len(b.prefix):]
			if name <= after {
				continue // stores that do not know StartAfter
			}
			if err := yield(line(name, o.Size, o.LastModified)); err != nil {
				return err
			}
		}
	}
	return nil
}

// Delete is [Bucket].
func (b *S3) Delete(ctx context.Context, name string) error {
	_, err := b.client.DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: &b.name, Key: aws.String(b.prefix + name)})
	return told(name, err)
}

// ErrRefused says that the store answered and does not take what it was asked: the keys are wrong, there is no such
// bucket, or its certificate is not trusted. Trying again does not help.
var ErrRefused = errors.New("refused")

// told puts the store's error into words.
func told(name string, err error) error {
	var none *types.NoSuchKey
	var missing *types.NotFound
	switch {
	case err == nil:
		return nil
	case errors.As(err, &none), errors.As(err, &missing):
		return fmt.Errorf("%s of the store: %w", name, fs.ErrNotExist)
	case name == "":
		return fmt.Errorf("the store: %w", why(err))
	}
	return fmt.Errorf("%s of the store: %w", name, why(err))
}

// why is what the client of the store wraps in its own steps.
func why(err error) error {
	var said smithy.APIError
	var response *smithyhttp.ResponseError
	var certificate *tls.CertificateVerificationError
	var network *url.Error
	switch {
	case errors.As(err, &response) && response.HTTPStatusCode() >= http.StatusInternalServerError, errors.Is(err, context.Canceled):
		return err // which passes
	case errors.As(err, &said) && said.ErrorCode() != "SlowDown":
		return fmt.Errorf("%w: %s", ErrRefused, strings.TrimSuffix(said.ErrorCode()+": "+said.ErrorMessage(), ": "))
	case errors.As(err, &certificate):
		return fmt.Errorf("%w: its certificate is not trusted (%v); AWS_CA_BUNDLE names a file of others", ErrRefused, certificate.Err)
	case strings.Contains(err.Error(), "failed to refresh cached credentials"):
		return fmt.Errorf("%w: there are no keys; give AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE", ErrRefused)
	case errors.As(err, &network):
		return network.Err
	}
	return err
}
