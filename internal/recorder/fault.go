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

// Status answers with an API server's Status of a code.
func Status(code int32, reason metav1.StatusReason, message string) Fault {
	return func(w http.ResponseWriter, _ *http.Request) {
		writeStatus(w, metav1.Status{Status: metav1.StatusFailure, Code: code, Reason: reason, Message: message})
	}
}

// TooManyRequests answers 429 and asks to come back after some seconds.
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

// NotServed answers as the API server does for a path that it does not know.
func NotServed(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain")
	w.WriteHeader(http.StatusNotFound)
	_, _ = io.WriteString(w, "404 page not found\n")
}

// GoAway lets requests through and tells the client with the answer to use the
// connection no more, as an API server behind a load balancer does.
func (p *Proxy) GoAway(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Connection", "close")
	p.forward.ServeHTTP(w, r)
}

// Slowly lets requests through after a while.
func (p *Proxy) Slowly(d time.Duration) Fault {
	return func(w http.ResponseWriter, r *http.Request) {
		time.Sleep(d)
		p.forward.ServeHTTP(w, r)
	}
}

// Expired answers a watch as the API server does when it no longer knows what
// happened since: with code 200, and the error as an event.
func Expired(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(metav1.WatchEvent{Type: "ERROR", Object: runtime.RawExtension{Object: &metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"},
		Status:   metav1.StatusFailure, Code: http.StatusGone, Reason: metav1.StatusReasonExpired, Message: "too old resource version",
	}}})
}

// Reset breaks the connection without an answer; over HTTP/2 only the stream.
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

// Times gives a fault to the first n requests that fit.
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

// Always gives a fault to every request that fits.
func Always(fits func(*Request) bool, fault Fault) func(*Request) Fault {
	return func(r *Request) Fault {
		if fits(r) {
			return fault
		}
		return nil
	}
}

// Verb fits requests of a verb, on a resource unless that is "".
func Verb(verb, resource string) func(*Request) bool {
	return func(r *Request) bool { return r.Verb == verb && (resource == "" || r.Resource == resource) }
}

func discardLog() *log.Logger { return log.New(io.Discard, "", 0) }
