package main

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// certValid is how long a cluster's certificates live: longer than any cluster of this kind.
const certValid = 10 * 365 * 24 * time.Hour

// writeCerts fills dir with keys by which the servers know each other:
//
//	ca               signs kube-apiserver, kubelet, kubelet-client, and the requests to the certificates API
//	front-proxy-ca   signs front-proxy-client, by which an aggregated API server recognises kube-apiserver
//	service-account  the key that signs ServiceAccount tokens
//
// Each NAME is NAME.crt and NAME.key; service-account is NAME.key and NAME.pub.
func writeCerts(dir string) error {
	ca, err := newAuthority("localcluster-ca")
	if err != nil {
		return err
	}
	front, err := newAuthority("localcluster-front-proxy-ca")
	if err != nil {
		return err
	}
	serve := func(names ...string) x509.Certificate {
		return x509.Certificate{DNSNames: names, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1), serviceIP},
			ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}
	}
	client := x509.Certificate{ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}
	issues := []struct {
		file, commonName string
		by               *authority
		template         x509.Certificate
	}{
		{"kube-apiserver", "kube-apiserver", ca, serve("localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc",
			"kubernetes.default.svc.cluster.local")},
		{"kubelet", "kubelet", ca, serve("localhost")},
		{"kubelet-client", "kube-apiserver-kubelet-client", ca, client},
		{"front-proxy-client", "front-proxy-client", front, client},
	}
	for _, i := range issues {
		i.template.Subject = pkix.Name{CommonName: i.commonName}
		if err := i.by.issue(dir, i.file, i.template); err != nil {
			return fmt.Errorf("certificate %s: %w", i.file, err)
		}
	}
	if err := ca.write(dir, "ca"); err != nil {
		return err
	}
	if err := front.write(dir, "front-proxy-ca"); err != nil {
		return err
	}
	return writeServiceAccountKey(dir)
}

// serviceIP is the first address of serviceRange, which the Service "kubernetes" gets.
var serviceIP = net.IPv4(10, 0, 0, 1)

const serviceRange = "10.0.0.0/16"

// An authority signs certificates.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(name string) (*authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template := x509.Certificate{Subject: pkix.Name{CommonName: name}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature}
	der, err := sign(template, nil, key.Public(), key)
	if err != nil {
		return nil, err
	}
	cert, err := x509.ParseCertificate(der)
	return &authority{cert, key}, err
}

func (a *authority) write(dir, name string) error { return writePair(dir, name, a.cert.Raw, a.key) }

func (a *authority) issue(dir, name string, template x509.Certificate) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	template.KeyUsage = x509.KeyUsageDigitalSignature
	der, err := sign(template, a.cert, key.Public(), a.key)
	if err != nil {
		return err
	}
	return writePair(dir, name, der, key)
}

// sign fills in serial and validity; a nil parent means self-signed. Validity starts an hour ago, for clocks that
// step back.
func sign(template x509.Certificate, parent *x509.Certificate, public crypto.PublicKey, key crypto.Signer) ([]byte, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return nil, err
	}
	template.SerialNumber = serial
	template.NotBefore = time.Now().Add(-time.Hour)
	template.NotAfter = time.Now().Add(certValid)
	if parent == nil {
		parent = &template
	}
	return x509.CreateCertificate(rand.Reader, &template, parent, public, key)
}

func writePair(dir, name string, cert []byte, key *ecdsa.PrivateKey) error {
	if err := writePEM(filepath.Join(dir, name+".crt"), "CERTIFICATE", cert); err != nil {
		return err
	}
	return writeKey(dir, name, key)
}

func writeKey(dir, name string, key *ecdsa.PrivateKey) error {
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	return writePEM(filepath.Join(dir, name+".key"), "PRIVATE KEY", der)
}

func writeServiceAccountKey(dir string) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	public, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		return err
	}
	if err := writePEM(filepath.Join(dir, "service-account.pub"), "PUBLIC KEY", public); err != nil {
		return err
	}
	return writeKey(dir, "service-account", key)
}

func writePEM(file, kind string, der []byte) error {
	return os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600)
}
