package pipe_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"syscall"

	"github.com/understudy-go/understudy/mockproc/pipe"
)

// A process that is played by a goroutine: it answers each line, until its standard input ends.
func Example() {
	stdin, toProcess := pipe.New(pipe.OSSize)
	fromProcess, stdout := pipe.New(pipe.OSSize)
	go func() {
		defer stdout.Close()
		for lines := bufio.NewScanner(stdin); lines.Scan(); {
			fmt.Fprintf(stdout, "you said %q\n", lines.Text())
		}
	}()

	fmt.Fprintln(toProcess, "hello")
	fmt.Fprintln(toProcess, "goodbye")
	toProcess.Close()
	said, err := io.ReadAll(fromProcess)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s", said)
	// Output:
	// you said "hello"
	// you said "goodbye"
}

// A process that has died breaks the pipe that the host writes to, as one of the system.
func ExampleReader_Close() {
	stdin, toProcess := pipe.New(pipe.OSSize)
	stdin.Close()
	_, err := fmt.Fprintln(toProcess, "are you there?")
	fmt.Println(err, errors.Is(err, syscall.EPIPE))
	// Output:
	// broken pipe true
}

// An HTTP server without a port.
func ExampleListen() {
	l := pipe.Listen(pipe.OSSize)
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "%s %s", r.Method, r.URL.Path)
	})}
	defer server.Close()
	go server.Serve(l)

	client := &http.Client{Transport: &http.Transport{DialContext: l.DialContext}}
	defer client.CloseIdleConnections()
	resp, err := client.Get("http://pipe/hello")
	if err != nil {
		log.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s: %s\n", resp.Status, body)
	// Output:
	// 200 OK: GET /hello
}
