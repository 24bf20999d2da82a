package redact

import "testing"

func TestSecretShapes(t *testing.T) {
	for value, want := range map[string]bool{
		"sk-proj-abcdefghijklmnop1234": true, "ghp_abcdefghijklmnopqrstuvwxyz0123": true, "AKIAIOSFODNN7EXAMPLE": true,
		"postgres://u:secret@db/x": true, "Bearer eyJhbGciOiJI.eyJzdWIiOiIxMjM0.sig": true,
		"-----BEGIN RSA PRIVATE KEY-----":   true,
		"postgres://h/db?user=u&password=p": true, "host=h user=u password=p": true, "Server=h;User=u;Pwd=p": true,
		"redis://:pw@h/0": true, "postgres://h/db?sslmode=require": false, "postgres://u@h/db": false, "--password-file=/x": false,
		"https://example.com/a@b": false, "/usr/bin:/bin": false, "task-runner": false, "git@github.com:a/b": false,
	} {
		if SecretValue(value) != want {
			t.Errorf("SecretValue(%q) = %v", value, !want)
		}
	}
}
