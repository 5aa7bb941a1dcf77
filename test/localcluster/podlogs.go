package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"
)

// servePodLogs serves kube-apiserver's requests to a Node's kubelet for `kubectl logs`. kwok could
// serve files by Pod name; this knows the Pod, so that a log fits the Pod's behaviour, or comes
// from its annotation.
func (c *cluster) servePodLogs(ctx context.Context) error {
	api, err := c.client()
	if err != nil {
		return err
	}
	ca, err := os.ReadFile(c.cert("ca.crt"))
	if err != nil {
		return err
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(ca)
	mux := http.NewServeMux()
	mux.Handle("GET /containerLogs/{namespace}/{pod}/{container}", podLogHandler{api})
	server := &http.Server{
		Addr:              fmt.Sprintf("127.0.0.1:%d", c.Ports[portPodLogs]),
		Handler:           mux,
		TLSConfig:         &tls.Config{ClientCAs: pool, ClientAuth: tls.RequireAndVerifyClientCert},
		ReadHeaderTimeout: 10 * time.Second,
	}
	go func() {
		<-ctx.Done()
		_ = server.Close()
	}()
	err = server.ListenAndServeTLS(c.cert("kubelet.crt"), c.cert("kubelet.key"))
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

type podLogHandler struct{ api *client }

// A loggedPod has the fields for a log.
type loggedPod struct {
	Metadata struct {
		Name        string
		Namespace   string
		Annotations map[string]string
	}
	Status struct {
		Phase             string
		StartTime         time.Time
		ContainerStatuses []struct {
			Name         string
			RestartCount int
			State        struct{ Waiting *struct{ Reason string } }
		}
	}
}

// ServeHTTP answers as a kubelet does, for the options tailLines, timestamps and follow.
func (h podLogHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	pod, err := h.pod(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusNotFound)
		return
	}
	container := r.PathValue("container")
	if reason := pod.waits(container); reason != "" {
		http.Error(w, fmt.Sprintf("container %q in pod %q is waiting to start: %s", container, pod.Metadata.Name, reason),
			http.StatusBadRequest)
		return
	}
	lines := pod.log(container)
	query := r.URL.Query()
	if tail, err := strconv.Atoi(query.Get("tailLines")); err == nil {
		lines = lines[max(0, len(lines)-tail):]
	}
	for _, line := range lines {
		if query.Get("timestamps") == "true" {
			line = pod.Status.StartTime.Format(time.RFC3339Nano) + " " + line
		}
		fmt.Fprintln(w, line)
	}
	if query.Get("follow") == "true" {
		_ = http.NewResponseController(w).Flush()
		h.follow(r)
	}
}

// follow returns when the Pod has ended or is gone.
func (h podLogHandler) follow(r *http.Request) {
	for {
		pod, err := h.pod(r)
		if err != nil || pod.Status.Phase != "Running" {
			return
		}
		select {
		case <-r.Context().Done():
			return
		case <-time.After(500 * time.Millisecond):
		}
	}
}

func (h podLogHandler) pod(r *http.Request) (pod loggedPod, err error) {
	path := fmt.Sprintf("/api/v1/namespaces/%s/pods/%s", r.PathValue("namespace"), r.PathValue("pod"))
	err = h.api.do(r.Context(), http.MethodGet, path, nil, &pod)
	return pod, err
}

// waits is why the container has never run; empty when it has.
func (p loggedPod) waits(container string) string {
	for _, s := range p.Status.ContainerStatuses {
		if s.Name == container && s.State.Waiting != nil && s.RestartCount == 0 {
			return s.State.Waiting.Reason
		}
	}
	return ""
}

// log is the container's simulated output. The annotation localcluster/logs says it; without it, a
// Pod that fails has an error as its last line.
func (p loggedPod) log(container string) []string {
	if text := p.Metadata.Annotations["localcluster/logs"]; text != "" {
		return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	}
	lines := []string{fmt.Sprintf("localcluster: container %s of Pod %s/%s is simulated by kwok, no process runs",
		container, p.Metadata.Namespace, p.Metadata.Name)}
	needs, waits := p.Metadata.Annotations[crashesUntil], p.Metadata.Annotations[readyWhen]
	switch b := p.Metadata.Annotations[behaviour]; {
	case needs != "":
		lines = append(lines, "fatal error: needs: "+needs)
	case waits != "":
		lines = append(lines, "waits for: "+waits)
	case b == "fail", b == "crash-loop":
		lines = append(lines, "fatal error: localcluster/behaviour asks for exit code 1")
	}
	return lines
}
