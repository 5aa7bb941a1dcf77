package recorder

import (
	"encoding/json"
	"io"
	"log"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Status returns a Fault that responds with a Status of the API server.
func Status(code int32, reason metav1.StatusReason, message string) Fault {
	return func(w http.ResponseWriter, _ *http.Request) {
		writeStatus(w, metav1.Status{Status: metav1.StatusFailure, Code: code, Reason: reason, Message: message})
	}
}

// TooManyRequests returns a Fault that responds with 429 and Retry-After in
// seconds.
func TooManyRequests(retryAfter string) Fault {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", retryAfter)
		writeStatus(w, metav1.Status{Status: metav1.StatusFailure, Code: http.StatusTooManyRequests, Reason: metav1.StatusReasonTooManyRequests, Message: "too many requests"})
	}
}

func writeStatus(w http.ResponseWriter, status metav1.Status) {
	status.TypeMeta = metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(int(status.Code))
	_ = json.NewEncoder(w).Encode(status)
}

// NotServed responds like the API server to an unknown path.
func NotServed(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain")
	w.WriteHeader(http.StatusNotFound)
	_, _ = io.WriteString(w, "404 page not found\n")
}

// GoAway forwards requests and asks the client to close the connection, as an
// API server behind a load balancer does.
func (p *Proxy) GoAway(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Connection", "close")
	p.forward.ServeHTTP(w, r)
}

// Slowly returns a Fault that forwards requests after a delay.
func (p *Proxy) Slowly(d time.Duration) Fault {
	return func(w http.ResponseWriter, r *http.Request) {
		time.Sleep(d)
		p.forward.ServeHTTP(w, r)
	}
}

// Expired responds to a watch like the API server for an expired resource
// version: with code 200, and the error as an event.
func Expired(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(metav1.WatchEvent{Type: "ERROR", Object: runtime.RawExtension{Object: &metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"},
		Status:   metav1.StatusFailure, Code: http.StatusGone, Reason: metav1.StatusReasonExpired, Message: "too old resource version",
	}}})
}

// Reset resets the connection without a response; with HTTP/2 only the stream.
func Reset(w http.ResponseWriter, _ *http.Request) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = conn.Close()
}

// Times returns a function that injects a fault into the first n matching
// requests.
func Times(n int32, fits func(*Request) bool, fault Fault) func(*Request) Fault {
	var left atomic.Int32
	left.Store(n)
	return func(r *Request) Fault {
		if fits(r) && left.Add(-1) >= 0 {
			return fault
		}
		return nil
	}
}

// Always returns a function that injects a fault into every matching request.
func Always(fits func(*Request) bool, fault Fault) func(*Request) Fault {
	return func(r *Request) Fault {
		if fits(r) {
			return fault
		}
		return nil
	}
}

// Verb matches requests with a verb, and with a resource unless that is "".
func Verb(verb, resource string) func(*Request) bool {
	return func(r *Request) bool { return r.Verb == verb && (resource == "" || r.Resource == resource) }
}

func discardLog() *log.Logger { return log.New(io.Discard, "", 0) }
