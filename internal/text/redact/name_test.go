package redact

import (
	"testing"

	"pgregory.net/rapid"
)

func TestSecretShapes(t *testing.T) {
	for value, want := range map[string]bool{
		"sk-proj-abcdefghijklmnop1234": true, "ghp_abcdefghijklmnopqrstuvwxyz0123": true, "AKIAIOSFODNN7EXAMPLE": true,
		"postgres://u:secret@db/x": true, "Bearer eyJhbGciOiJI.eyJzdWIiOiIxMjM0.sig": true,
		"-----BEGIN RSA PRIVATE KEY-----":   true,
		"postgres://h/db?user=u&password=p": true, "host=h user=u password=p": true, "Server=h;User=u;Pwd=p": true,
		"redis://:pw@h/0": true, "postgres://h/db?sslmode=require": false, "postgres://u@h/db": false, "--password-file=/x": false,
		"https://example.com/a@b": false, "/usr/bin:/bin": false, "task-runner": false, "git@github.com:a/b": false,
		"'http.extraheader=Authorization: Bearer abc123'": true, "AUTHORIZATION: basic dTpw==": true,
		"https://hooks.slack.com/services/T0/B0/x": true, "https://discord.com/api/webhooks/123/x": true,
		"machine h login u password p": true, "DefaultEndpointsProtocol=https;AccountName=a;AccountKey=abcdefghij==;": true,
		"https://b.blob.test/c?sv=2020&sig=abcdefghijklmnop%3D": true, "hvs.abcdefghijklmnopqrstu": true,
		"123456789:AAabcdefghijklmnopqrstuvwxyz0123456": true, "AGE-SECRET-KEY-1ABCDEFGHIJKLMNOPQRSTUV": true,
		"lin_api_abcdefghijklmnopqrst": true, "xai-abcdefghijklmnopqrst": true,
		"https://hooks.example.com/services": false, "10:20:30": false, "signal=15": false, "authorization: none": false,
		"machine learning": false, "2026-11-26T05:21:58": false, "pull-request": false, "gsk": false,
	} {
		if SecretValue(value) != want {
			t.Errorf("SecretValue(%q) = %v", value, !want)
		}
	}
}

func TestSecretNames(t *testing.T) {
	for name, want := range map[string]bool{"GH_PAT": true, "MYSQL_PWD": true, "DB_PASS": true, "PGPASS": true, "SSHPASS": true,
		"LDAP_BIND_PW": true, "WALLET_MNEMONIC": true, "API_KEY": true, "JWT": true, "BEARER": true,
		"PATH": false, "PWD": false, "OLDPWD": false, "GIT_AUTHOR_NAME": false, "COMPASS": false, "PROXY_BYPASS": false,
		"PWNED": false, "PASSENGER": false} {
		if SecretName(name) != want {
			t.Errorf("SecretName(%q) = %v", name, !want)
		}
	}
}

// TestMarksLoseNothing: what has the shape of a secret has one of its marks, in any case that
// the shape allows.
func TestMarksLoseNothing(t *testing.T) {
	for _, s := range tellings() {
		expr := s.match().String()
		rapid.Check(t, func(t *rapid.T) {
			if v := rapid.StringMatching(expr).Draw(t, "value"); s.match().MatchString(v) && !SecretValue(v) {
				t.Fatalf("%q has the shape %s, and none of %q", v, expr, s.marks)
			}
		})
	}
}
