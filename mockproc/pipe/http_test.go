package pipe_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing/synctest"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/understudy-go/understudy/mockproc/pipe"
	"github.com/understudy-go/understudy/timelinekit/bubble"
)

var _ = Describe("An HTTP server in memory, on virtual time,", bubble.InBubble, func() {
	var server *http.Server
	var client *http.Client
	var mux *http.ServeMux
	var served chan error
	var connections int // that the server has accepted
	BeforeEach(func() {
		l := pipe.Listen(1 << 10)
		mux = http.NewServeMux()
		connections = 0
		server = &http.Server{
			Handler:           mux,
			IdleTimeout:       time.Minute,
			ReadHeaderTimeout: 10 * time.Second,
			ConnState: func(_ net.Conn, s http.ConnState) {
				if s == http.StateNew {
					connections++
				}
			},
		}
		transport := &http.Transport{DialContext: l.DialContext}
		client = &http.Client{Transport: transport}
		served = make(chan error, 1)
		go func() { served <- server.Serve(l) }()
		DeferCleanup(func() {
			transport.CloseIdleConnections()
			Expect(server.Close()).To(Succeed())
		})
	})

	get := func(path string) string {
		GinkgoHelper()
		resp, err := client.Get("http://pipe" + path)
		Expect(err).NotTo(HaveOccurred())
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		Expect(err).NotTo(HaveOccurred())
		return string(body)
	}

	It("answers", func() {
		mux.HandleFunc("POST /", func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			_, _ = w.Write(body)
		})
		long := strings.Repeat("a body longer than the pipe\n", 10_000)
		resp, err := client.Post("http://pipe/", "text/plain", strings.NewReader(long))
		Expect(err).NotTo(HaveOccurred())
		Expect(io.ReadAll(resp.Body)).To(BeEquivalentTo(long))
	})
	It("answers many at once, in the time that the slowest takes", func() {
		mux.HandleFunc("/{n}", func(w http.ResponseWriter, r *http.Request) {
			time.Sleep(time.Minute)
			fmt.Fprint(w, r.PathValue("n"))
		})
		began := time.Now()
		answers := make([]string, 50)
		var all sync.WaitGroup
		for i := range answers {
			all.Go(func() {
				defer GinkgoRecover()
				answers[i] = get(fmt.Sprint("/", i))
			})
		}
		all.Wait()
		Expect(time.Since(began)).To(Equal(time.Minute))
		for i, answer := range answers {
			Expect(answer).To(Equal(fmt.Sprint(i)))
		}
	})
	It("keeps a connection for the next request, until it was idle too long", func() {
		mux.HandleFunc("/", func(http.ResponseWriter, *http.Request) {})
		for range 5 {
			get("/")
			time.Sleep(59 * time.Second)
		}
		Expect(connections).To(Equal(1))
		time.Sleep(time.Minute)
		get("/")
		Expect(connections).To(Equal(2))
	})
	It("sees that a client has lost its patience, at that instant", func() {
		gone := make(chan time.Time, 1)
		mux.HandleFunc("/", func(_ http.ResponseWriter, r *http.Request) {
			<-r.Context().Done()
			gone <- time.Now()
		})
		client.Timeout = 30 * time.Second
		began := time.Now()
		_, err := client.Get("http://pipe/")
		Expect(os.IsTimeout(err)).To(BeTrue(), "%v", err)
		Expect(time.Since(began)).To(Equal(30 * time.Second))
		Expect((<-gone).Sub(began)).To(Equal(30 * time.Second))
	})
	It("sees that a request was canceled", func(ctx SpecContext) {
		gone := make(chan bool, 1)
		arrived := make(chan bool, 1)
		mux.HandleFunc("/", func(_ http.ResponseWriter, r *http.Request) {
			arrived <- true
			<-r.Context().Done()
			gone <- true
		})
		canceled, cancel := context.WithCancel(ctx)
		go func() {
			<-arrived
			cancel()
		}()
		req, err := http.NewRequestWithContext(canceled, "GET", "http://pipe/", nil)
		Expect(err).NotTo(HaveOccurred())
		_, err = client.Do(req)
		Expect(err).To(MatchError(context.Canceled))
		<-gone
	})
	It("loses its patience with a client that sends nothing", func() {
		conn, err := client.Transport.(*http.Transport).DialContext(context.Background(), "tcp", "pipe:80")
		Expect(err).NotTo(HaveOccurred())
		began := time.Now()
		Expect(io.ReadAll(conn)).To(BeEmpty())
		Expect(time.Since(began)).To(Equal(10 * time.Second))
		conn.Close()
	})
	It("streams events, each of which comes at its instant", func() {
		mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			for i := range 5 {
				time.Sleep(time.Second)
				fmt.Fprintf(w, "data: %d\n\n", i)
				_ = http.NewResponseController(w).Flush()
			}
		})
		began := time.Now()
		resp, err := client.Get("http://pipe/")
		Expect(err).NotTo(HaveOccurred())
		var came []string
		for events := bufio.NewScanner(resp.Body); events.Scan(); {
			if events.Text() != "" {
				came = append(came, fmt.Sprint(events.Text(), " at ", time.Since(began)))
			}
		}
		Expect(came).To(Equal([]string{"data: 0 at 1s", "data: 1 at 2s", "data: 2 at 3s", "data: 3 at 4s", "data: 4 at 5s"}))
	})
	It("waits for a client that reads slowly, and sees that it goes", func() {
		written := make(chan int, 1)
		mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
			n := 0
			for r.Context().Err() == nil {
				m, _ := w.Write(make([]byte, 1<<10))
				n += m
			}
			written <- n
		})
		resp, err := client.Get("http://pipe/")
		Expect(err).NotTo(HaveOccurred())
		synctest.Wait()
		Expect(written).NotTo(Receive())
		resp.Body.Close()
		Expect(<-written).To(BeNumerically("<", 64<<10))
	})
	It("ends its clients when it is closed", func() {
		mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		})
		resp, err := client.Get("http://pipe/")
		Expect(err).NotTo(HaveOccurred())
		Expect(server.Close()).To(Succeed())
		Expect(<-served).To(MatchError(http.ErrServerClosed))
		_, err = io.ReadAll(resp.Body)
		Expect(err).To(MatchError(io.ErrUnexpectedEOF))
		_, err = client.Get("http://pipe/")
		Expect(err).To(MatchError(ContainSubstring("connection refused")))
	})
	It("shuts down when the last answer is out", func(ctx SpecContext) {
		mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
			time.Sleep(time.Minute)
			fmt.Fprint(w, "done")
		})
		answer := make(chan string, 1)
		go func() {
			defer GinkgoRecover()
			answer <- get("/")
		}()
		synctest.Wait()
		Expect(server.Shutdown(ctx)).To(Succeed())
		Expect(answer).To(Receive(Equal("done")))
	})
	It("can be shut down in vain", func(ctx SpecContext) {
		mux.HandleFunc("/", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
		failed := make(chan error, 1)
		go func() {
			_, err := client.Get("http://pipe/")
			failed <- err
		}()
		synctest.Wait()
		patience, cancel := context.WithTimeout(ctx, time.Minute)
		defer cancel()
		Expect(server.Shutdown(patience)).To(MatchError(context.DeadlineExceeded))
		Expect(server.Close()).To(Succeed())
		Expect(<-failed).To(MatchError(io.EOF))
	})
})

var _ = Describe("net/http/httptest", func() {
	for _, secure := range []bool{false, true} {
		It(fmt.Sprintf("has a server in memory when it gets the listener; TLS: %t", secure), func() {
			l := pipe.Listen(pipe.OSSize)
			server := &httptest.Server{Listener: l, Config: &http.Server{
				Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, r.Host) }),
			}}
			if secure {
				server.StartTLS()
			} else {
				server.Start()
			}
			defer server.Close()
			client := &http.Client{Transport: &http.Transport{
				DialContext:     l.DialContext,
				TLSClientConfig: &tls.Config{InsecureSkipVerify: true},
			}}
			defer client.CloseIdleConnections()
			resp, err := client.Get(server.URL)
			Expect(err).NotTo(HaveOccurred())
			defer resp.Body.Close()
			Expect(io.ReadAll(resp.Body)).To(BeEquivalentTo("pipe"))
		})
	}
})
