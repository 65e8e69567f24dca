package e2e_test

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/understudy-go/understudy/e2e/stopwatch"
	"github.com/understudy-go/understudy/fakeagent/standin"
)

// chatPeer is a server that answers chats, in a process of its own.
type chatPeer struct {
	b      *testing.B
	cmd    *exec.Cmd
	url    string
	client *http.Client
	chats  []chatCall // one a client
}

// chatCall is the request of a client.
type chatCall struct {
	url, token string
	body       []byte
}

// startChatPeer starts a server, and waits for the line that says where it listens.
func startChatPeer(b *testing.B, argv ...string) *chatPeer {
	b.Helper()
	p := &chatPeer{b: b, cmd: exec.Command(argv[0], argv[1:]...), client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 100, DisableCompression: true}}}
	p.cmd.Stderr = os.Stderr
	stdin, err := p.cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	stdout, err := p.cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		p.client.CloseIdleConnections()
		_ = stdin.Close()
		_ = p.cmd.Process.Kill() // it has no children
		_ = p.cmd.Wait()
	})
	for lines := bufio.NewReader(stdout); ; {
		line, err := lines.ReadString('\n')
		if err != nil {
			b.Fatalf("%s: %v", p.cmd, err)
		}
		if at := strings.Index(line, "http://127.0.0.1:"); at >= 0 {
			p.url = strings.Fields(line[at:])[0]
			go func() { _, _ = io.Copy(io.Discard, lines) }()
			return p
		}
	}
}

// post sends JSON, and reads all of the answer.
func (p *chatPeer) post(c chatCall) []byte {
	r, err := http.NewRequest(http.MethodPost, c.url, bytes.NewReader(c.body))
	if err != nil {
		p.b.Error(err)
		return nil
	}
	r.Header.Set("Authorization", "Bearer "+c.token)
	r.Header.Set("Content-Type", "application/json")
	res, err := p.client.Do(r)
	if err != nil {
		p.b.Error(err)
		return nil
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode >= 300 {
		p.b.Errorf("%d: %v: %.300s", res.StatusCode, err, answer)
	}
	return answer
}

// standInChat is the request of a new session of a stand-in.
func (p *chatPeer) standInChat() chatCall {
	id := standin.DefaultIdentity()
	session := p.post(chatCall{p.url + "/api/v1/agents/" + id.AgentUID + "/start-new-session/", "a token", nil})
	var named struct{ UID string }
	if err := json.Unmarshal(session, &named); err != nil {
		p.b.Fatal(err)
	}
	body := fmt.Sprintf(`{"runtime_session_uid":%q,"session":%s,"messages":[{"role":"user","content":[{"type":"text","text":"hello"}]}]}`, named.UID, session)
	return chatCall{p.url + "/__runtime__/api/chat", id.RuntimeToken, []byte(body)}
}

// ask has clients send so many requests in all, and checks that each answer has eight frames and an end.
func (p *chatPeer) ask(clients, requests int) {
	var all sync.WaitGroup
	for i := range clients {
		all.Go(func() {
			for range requests / clients {
				answer := p.post(p.chats[i])
				if n := bytes.Count(answer, []byte("data: ")); n != 9 || !bytes.HasSuffix(answer, []byte("data: [DONE]\n\n")) {
					p.b.Errorf("%d frames: %s", n, answer)
					return
				}
			}
		})
	}
	all.Wait()
}

// resident is the memory of a process in MB, now; false where that cannot be asked for.
func (p *chatPeer) resident() (mb float64, ok bool) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		return 0, false
	}
	_, rest, _ := strings.Cut(string(status), "VmRSS:")
	fields := strings.Fields(rest)
	kb, err := strconv.Atoi(fields[0])
	return float64(kb) / 1024, err == nil
}

// buildChatServer builds what testdata/chatserver is.
func buildChatServer(b *testing.B) string {
	b.Helper()
	path, err := buildGo(b.TempDir(), module+"/e2e/testdata/chatserver")
	if err != nil {
		b.Fatal(err)
	}
	return path
}

// startAIMock is a mock of others, whose reply has as many frames; nil where it is not installed.
func startAIMock(b *testing.B) *chatPeer {
	b.Helper()
	node, err := exec.LookPath("node")
	if err != nil {
		b.Log("without aimock: ", err)
		return nil
	}
	program := filepath.FromSlash("clients/node_modules/@copilotkit/aimock/dist/cli.js")
	if _, err := os.Stat(program); err != nil {
		b.Log("without aimock; run `npm ci` in e2e/clients: ", err)
		return nil
	}
	fixtures := filepath.Join(b.TempDir(), "fixtures.json")
	// Besides six pieces of three characters there are a frame for the role and one for the finish.
	if err := os.WriteFile(fixtures, []byte(`{"fixtures":[{"match":{"userMessage":"hello"},"response":{"content":"Here is an answer."}}]}`), 0o600); err != nil {
		b.Fatal(err)
	}
	p := startChatPeer(b, node, program, "-p", "0", "-h", "127.0.0.1", "-f", fixtures, "-c", "3")
	for range 64 {
		p.chats = append(p.chats, chatCall{p.url + "/v1/chat/completions", "x", []byte(`{"model":"gpt-4o","stream":true,"messages":[{"role":"user","content":"hello"}]}`)})
	}
	return p
}

// BenchmarkStandIn is how many chats of eight frames a stand-in answers a second, for so many clients at once. It compares it with a handler that does
// nothing but write the same frames, and with a mock of others. Each is a process of its own, and all are measured in turns.
func BenchmarkStandIn(b *testing.B) {
	binary := buildChatServer(b)
	for _, clients := range []int{1, 8, 64} {
		b.Run(fmt.Sprintf("clients=%d", clients), func(b *testing.B) {
			ours, plain := startChatPeer(b, binary, "standin"), startChatPeer(b, binary, "plain")
			for range clients {
				ours.chats = append(ours.chats, ours.standInChat())
				plain.chats = append(plain.chats, chatCall{plain.url, "", ours.chats[0].body})
			}
			peers, requests := []*chatPeer{ours, plain}, []int{1280, 1280, 320}
			if mock := startAIMock(b); mock != nil {
				peers = append(peers, mock)
			}
			watches := make([]stopwatch.Stopwatch, len(peers))
			for round := range 12 {
				for i, p := range peers {
					watch := &watches[i]
					if round == 0 {
						watch = new(stopwatch.Stopwatch) // who was just started is slow
					}
					watch.Time(1, func() { p.ask(clients, requests[i]) })
				}
			}
			for b.Loop() {
				ours.ask(clients, clients)
			}
			each := func(i int) float64 { return watches[i].Median() / float64(requests[i]) }
			b.ReportMetric(float64(time.Second)/each(0), "chats/s")
			for i, unit := range []string{"×plain", "×aimock"}[:len(peers)-1] {
				b.ReportMetric(each(i+1)/each(0), unit)
			}
		})
	}
}

// BenchmarkStandInStart is the time from the start of a process to the end of the first chat that it answers, and its memory after a thousand.
func BenchmarkStandInStart(b *testing.B) {
	binary := buildChatServer(b)
	var answered stopwatch.Stopwatch
	for range 20 {
		answered.Time(1, func() {
			p := startChatPeer(b, binary, "standin")
			p.chats = []chatCall{p.standInChat()}
			p.ask(1, 1)
		})
	}
	p := startChatPeer(b, binary, "standin")
	for range 8 {
		p.chats = append(p.chats, p.standInChat())
	}
	p.ask(8, 1000)
	mb, ok := p.resident()
	for b.Loop() {
		p.ask(1, 1)
	}
	if ok {
		b.ReportMetric(mb, "MB-after-1000")
	}
	b.ReportMetric(answered.Median()/1e6, "ms/first-chat")
}

// BenchmarkStandInStreams has 10,000 streams open at once, with a frame a second each, and tells how late the frames come to a client in another
// process, and how much memory a stream has, both in relation to the same of a handler that does nothing but write the same frames. It is about
// streams that are open: what comes while others begin or end is not measured. The two are measured in turns.
func BenchmarkStandInStreams(b *testing.B) {
	binary := buildChatServer(b)
	servers := []string{"standin-slow", "plain-slow"}
	var late, memory [2][3]float64
	for round := range 3 {
		for i, what := range servers {
			p := startChatPeer(b, binary, what)
			calls := make([]chatCall, 10_000)
			for n := range calls {
				calls[n] = chatCall{p.url, "", []byte("{}")}
				if i == 0 {
					calls[n] = p.standInChat()
				}
			}
			p99, kb := p.openStreams(calls)
			b.Logf("%s: p99 %.1f ms late, %.1f KB a stream", what, float64(p99)/1e6, kb)
			late[i][round], memory[i][round] = float64(p99)/1e6, kb
			_ = p.cmd.Process.Kill()
		}
	}
	for b.Loop() {
	}
	median := func(rounds [3]float64) float64 { return slices.Sorted(slices.Values(rounds[:]))[1] }
	b.ReportMetric(median(late[0]), "ms-late-p99")
	b.ReportMetric(median(late[0])/median(late[1]), "×plain-late")
	b.ReportMetric(median(memory[0]), "KB/stream")
	b.ReportMetric(median(memory[0])/median(memory[1]), "×plain-KB")
}

// openStreams opens streams of slowFrames frames, a second apart, in the course of three seconds. It says how late 99 of 100 frames are at most,
// and how much memory a stream has: from when each has had its first two frames to when the first of them ends.
func (p *chatPeer) openStreams(calls []chatCall) (p99 time.Duration, kb float64) {
	const opening = 3 * time.Second
	var all sync.WaitGroup
	streams := make([][]time.Time, len(calls))
	before, ok := p.resident()
	began := time.Now()
	for n, c := range calls {
		time.Sleep(time.Until(began.Add(opening * time.Duration(n) / time.Duration(len(calls)))))
		all.Go(func() { streams[n] = p.follow(c) })
	}
	time.Sleep(time.Until(began.Add((slowFrames - 1) * time.Second)))
	after, _ := p.resident()
	all.Wait()
	if p.b.Failed() {
		p.b.FailNow()
	}
	ends := slices.MinFunc(streams, func(a, b []time.Time) int { return a[slowFrames-1].Compare(b[slowFrames-1]) })[slowFrames-1]
	begun := slices.MaxFunc(streams, func(a, b []time.Time) int { return a[1].Compare(b[1]) })[1]
	var lates []time.Duration
	for _, came := range streams {
		frames := 0
		for i := 2; i < len(came); i++ {
			if !came[i-1].Before(begun) && came[i].Before(ends) {
				lates = append(lates, came[i].Sub(came[i-1])-time.Second)
				frames++
			}
		}
		if frames < 8 {
			p.b.Fatalf("of a stream only %d frames came while all of them ran", frames)
		}
	}
	slices.Sort(lates)
	if !ok {
		return lates[len(lates)*99/100], 1
	}
	return lates[len(lates)*99/100], (after - before) * 1024 / float64(len(calls))
}

// slowFrames is how many frames a stream has that is sent slowly.
const slowFrames = 18

// follow reads a stream of slowFrames frames, and says when each came.
func (p *chatPeer) follow(c chatCall) (came []time.Time) {
	u, err := url.Parse(c.url)
	if err != nil {
		p.b.Error(err)
		return nil
	}
	conn, err := net.Dial("tcp", u.Host)
	if err != nil {
		p.b.Error(err)
		return nil
	}
	defer conn.Close()
	fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s",
		cmp.Or(u.Path, "/"), u.Host, c.token, len(c.body), c.body)
	for lines := bufio.NewReaderSize(conn, 256); ; {
		line, err := lines.ReadSlice('\n')
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			if len(came) != slowFrames {
				p.b.Errorf("a stream ended after %d frames: %v", len(came), err)
			}
			return came
		}
		if bytes.HasPrefix(line, []byte("data: {")) {
			came = append(came, time.Now())
		}
	}
}
