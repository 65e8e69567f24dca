package fakeagent

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/understudy-go/understudy/fakeagent/event"
	"github.com/understudy-go/understudy/fakeagent/playbook"
	"github.com/understudy-go/understudy/fakeagent/script"
	"github.com/understudy-go/understudy/fakeagent/timeline"
)

// undefined is what recorders write for a value that JSON has no word for.
const undefined = "⟨undefined⟩"

// recorded is an event of a recording, as it was.
type recorded struct {
	typ, itemID, requestID string
	threadID, turnID       string          // "" too where it is no text, of which a replay has no need
	refs, payload          json.RawMessage // refs may be nil
}

// wantRecording is what a file should have.
const wantRecording = `a recording is an array of events, an object that has one as "events", or an event a line`

// parseRecording is the events of a file, all of which have an envelope that is right.
func parseRecording(data []byte) ([]recorded, error) {
	if hasEventLines(data) {
		return parseLines(data)
	}
	if err := json.Unmarshal(data, new(json.RawMessage)); err != nil {
		syntax := &json.SyntaxError{}
		errors.As(err, &syntax) // it can be no other
		at := int(syntax.Offset)
		return nil, fmt.Errorf("line %d, byte %d: %w; %s", lineOf(data, at-1), at, err, wantRecording)
	}
	list, begin := json.RawMessage(data), 0
	if kind(data) == '{' {
		list = nil
		for m := range members(data) {
			if m.key == "events" {
				list, begin = m.value, m.at
			}
		}
		if list == nil {
			return nil, fmt.Errorf(`no "events"; %s`, wantRecording)
		} else if kind(list) != '[' {
			return nil, fmt.Errorf(`"events" must be an array, is %s; %s`, brief(list), wantRecording)
		}
	} else if kind(data) != '[' {
		return nil, fmt.Errorf("it is %s; %s", brief(data), wantRecording)
	}
	var events []recorded
	for m := range members(list) {
		r, err := parseRecorded(m.value)
		if err != nil {
			where := fmt.Sprintf("events[%d]", len(events))
			if r.typ != "" {
				where += " (" + r.typ + ")"
			}
			return nil, fmt.Errorf("%s, line %d: %w", where, lineOf(data, begin+m.at), err)
		}
		events = append(events, r)
	}
	return events, nil
}

// hasEventLines is whether the first line is an event, as those are that the command exec prints.
func hasEventLines(data []byte) bool {
	line, _, _ := bytes.Cut(bytes.TrimLeft(data, " \t\r\n"), []byte("\n"))
	var first map[string]json.RawMessage
	return json.Unmarshal(line, &first) == nil && first["type"] != nil && first["events"] == nil
}

func parseLines(data []byte) (events []recorded, err error) {
	n := 0
	for line := range bytes.Lines(data) {
		n++
		line = bytes.TrimSpace(line)
		var r recorded
		switch {
		case len(line) == 0:
			continue
		case !json.Valid(line):
			err = fmt.Errorf("it is no JSON: %.60s", line)
		default:
			r, err = parseRecorded(line)
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		events = append(events, r)
	}
	return events, nil
}

// parseRecorded is one event. Of its envelope only what is played again must be right.
func parseRecorded(v json.RawMessage) (r recorded, err error) {
	if kind(v) != '{' {
		return r, fmt.Errorf(`it must be an object with a "type" and a "payload", is %s`, brief(v))
	}
	has := map[string]json.RawMessage{}
	for m := range members(v) {
		has[m.key] = m.value
	}
	for key, value := range has {
		var text string
		if kind(value) == '"' && json.Unmarshal(value, &text) == nil && text == undefined {
			delete(has, key)
		}
	}
	text := func(key, want string, into *string) {
		if value := has[key]; value != nil && json.Unmarshal(value, into) != nil && err == nil {
			err = fmt.Errorf("%s must be %s, is %s", key, want, brief(value))
		}
	}
	text("type", "a string that is not empty", &r.typ)
	text("itemId", "a string", &r.itemID) // null is none
	text("requestId", "a string", &r.requestID)
	_ = json.Unmarshal(has["threadId"], &r.threadID)
	_ = json.Unmarshal(has["turnId"], &r.turnID)
	if refs := has["providerRefs"]; refs != nil && string(refs) != "null" {
		r.refs = refs
	}
	r.payload = has["payload"]
	switch {
	case err != nil:
	case has["type"] == nil:
		err = errors.New(`no "type"; an event has a "type" and a "payload"`)
	case r.typ == "":
		err = fmt.Errorf("type must be a string that is not empty, is %s", brief(has["type"]))
	case r.payload == nil:
		err = errors.New(`no "payload"; an event has a "type" and a "payload"`)
	case kind(r.payload) != '{':
		err = fmt.Errorf("payload must be an object, is %s", brief(r.payload))
	case r.refs != nil && kind(r.refs) != '{':
		err = fmt.Errorf("providerRefs must be an object, is %s", brief(r.refs))
	}
	return r, err
}

// FromRecording says how [PlaybookFromRecording] makes a playbook.
type FromRecording struct {
	BuiltInServer string // whose calls name no server, as [Config] has it; "" is ycodium

	// MemberMachines is for threads on other machines. There a host may see a steer before the turn that it is for, and put it into the prompt of
	// that one. So each awaitSteer ends after a minute, and the turn goes on without a steer.
	MemberMachines bool
}

// PlaybookFromRecording makes a playbook that calls what the agents of a recording called. A recording is what the script replay plays: an array of
// events, or an object that has one as "events". Each thread has a line, and each of its turns a batch, in the order in which they began. A
// batch expects the message that opened its turn, so that turns which come in another order find theirs. A second message in a turn was a
// steer: the batch before it awaits one, and the steer has a batch of its own.
//
// Messages are items of the type user_message. Calls are those of the type mcp_tool_call, in the order in which they began. Their tool is that of
// data.server and data.tool, or that of a name such as mcp__server__tool, where the server's ends at the first __; their arguments are
// data.input or data.arguments. All that may also be in data.item.
//
// The arguments are those of the recording. Where one came of an earlier call, as an id does, put {{step:id.path}} in its place: only who knows the
// recording knows where. What else it cannot tell is said by the notes, a line each.
func PlaybookFromRecording(data []byte, how FromRecording) (p *playbook.Playbook, notes []string, err error) {
	events, err := parseRecording(data)
	if err != nil {
		return nil, nil, err
	}
	c := conversion{how: how}
	c.how.BuiltInServer = (&Config{BuiltInServer: how.BuiltInServer}).text("builtInServer")
	lost := 0
	threads := map[string]*recordedThread{}
	for i, r := range events {
		if r.threadID == "" {
			lost++
			continue
		}
		th := threads[r.threadID]
		if th == nil {
			th = &recordedThread{id: r.threadID, byID: map[string]*recordedTurn{}, noTurn: &recordedTurn{}}
			threads[r.threadID] = th
			c.threads = append(c.threads, th)
		}
		th.hear(r, i, c.how.BuiltInServer)
	}
	if lost > 0 {
		c.note("events without a threadId are left out: %d", lost)
	}
	written, err := c.playbook().MarshalJSON()
	if err == nil {
		p, err = playbook.Parse(written) // what stands there is what plays
	}
	if err != nil {
		return nil, nil, fmt.Errorf("its playbook: %w", err)
	}
	c.placeholders(p)
	return p, c.notes, nil
}

// recordedThread is what a recording has of a thread.
type recordedThread struct {
	id      string
	turns   []*recordedTurn
	byID    map[string]*recordedTurn
	running *recordedTurn
	noTurn  *recordedTurn // what came while none ran
}

// recordedTurn is what a recording has of a turn.
type recordedTurn struct {
	id     string // "" is none
	began  int    // the number of the event
	starts bool   // that event is its turn.started
	items  []*recordedItem
	byName map[recordedName][]*recordedItem
}

// recordedName tells items apart. Those without an id are told apart by what they are called.
type recordedName struct {
	typ       event.ItemType
	id, title string
}

// recordedItem is what a recording has of a message or a call.
type recordedItem struct {
	recordedName
	text  string // of a message
	final bool   // the text is that of its end

	server, tool string          // of a call
	arguments    json.RawMessage // an object, or nil
	known        bool            // whether it had arguments, be it none
}

// hear takes the next event of the thread.
func (th *recordedThread) hear(r recorded, number int, builtIn string) {
	t := th.turn(r, number)
	switch r.typ {
	case event.ItemStarted{}.Type(), event.ItemUpdated{}.Type(), event.ItemCompleted{}.Type():
		p, _ := script.NewDoc(r.payload) // which was read before
		t.hear(r, p, builtIn)
	case event.TurnCompleted{}.Type(), "turn.aborted":
		if th.running == t {
			th.running = nil
		}
	}
}

// turn is the one that an event is of: the one that it names, or the one that runs.
func (th *recordedThread) turn(r recorded, number int) *recordedTurn {
	starts := r.typ == event.TurnStarted{}.Type()
	t := th.byID[r.turnID]
	if t == nil && (r.turnID != "" || starts) {
		t = &recordedTurn{id: r.turnID, began: number}
		th.turns = append(th.turns, t)
		th.running = t
		if r.turnID != "" {
			th.byID[r.turnID] = t
		}
	}
	if t == nil {
		t = cmp.Or(th.running, th.noTurn)
	}
	if starts && !t.starts {
		t.began, t.starts, th.running = number, true, t
	}
	return t
}

// hear takes the next event of an item of the turn.
func (t *recordedTurn) hear(r recorded, p script.Doc, builtIn string) {
	name := recordedName{typ: event.ItemType(textAt(p, "itemType")), id: r.itemID}
	if name.id == "" {
		name.title = textAt(p, "title")
	}
	ends := r.typ == event.ItemCompleted{}.Type()
	switch item := t.item(name, r.typ == event.ItemStarted{}.Type(), ends); name.typ {
	case event.UserMessage:
		item.message(p, ends)
	case event.MCPToolCall:
		item.call(p, builtIn)
	}
}

// item is the one of that name. One without an id is over when it ends, and then another one may be called so.
func (t *recordedTurn) item(name recordedName, starts, ends bool) *recordedItem {
	same := t.byName[name]
	if len(same) == 0 || name.id == "" && starts {
		item := &recordedItem{recordedName: name}
		t.items, same = append(t.items, item), append(same, item)
	}
	item := same[0]
	if name.id == "" {
		if starts {
			item = same[len(same)-1]
		} else if ends {
			same = same[1:]
		}
	}
	if t.byName == nil {
		t.byName = map[recordedName][]*recordedItem{}
	}
	t.byName[name] = same
	return item
}

// message takes what an event tells of a message. Its end tells it best.
func (m *recordedItem) message(p script.Doc, ends bool) {
	text := textAt(p, "detail", "data.text", "data.message", "data.item.text")
	if text == "" {
		text = strings.Join(textParts(p), "\n")
	}
	if strings.TrimSpace(text) != "" && (ends || !m.final) {
		m.text, m.final = text, ends
	}
}

// textParts are the texts of a message that may have more than texts.
func textParts(p script.Doc) (texts []string) {
	content, _ := p.Lookup("data.item.content")
	if content == "" || content[0] != '[' {
		return nil
	}
	for m := range members(json.RawMessage(content)) {
		if text := textAt(script.Doc(m.value), "text"); text != "" {
			texts = append(texts, text)
		}
	}
	return texts
}

// call takes what an event tells of a call: later ones may know more than its start.
func (c *recordedItem) call(p script.Doc, builtIn string) {
	server, tool := textAt(p, "data.server", "data.item.server"), textAt(p, "data.tool", "data.item.tool")
	for _, name := range []string{tool, textAt(p, "data.toolName"), textAt(p, "title")} {
		if s, t, ok := toolOf(name, builtIn); ok {
			if server == "" || tool == "" || name == tool {
				server, tool = s, t
			}
			break
		}
	}
	if server != "" && server != "*" && tool != "" { // "*" would be more calls than one
		c.server, c.tool = server, tool
	}
	for _, path := range []string{"data.input", "data.arguments", "data.item.input", "data.item.arguments"} {
		switch v, ok := p.Lookup(path); {
		case !ok:
		case v == "null":
			c.known = true
		case v[0] == '{':
			c.known = true
			if object := defined(json.RawMessage(v), nil); string(object) != "{}" {
				c.arguments = object
			}
			return
		}
	}
}

// toolOf takes mcp__server__tool apart.
func toolOf(name, builtIn string) (server, tool string, ok bool) {
	rest, ok := strings.CutPrefix(name, "mcp__")
	if !ok {
		return "", "", false
	}
	if tool, ok = strings.CutPrefix(rest, builtIn+"__"); ok && tool != "" {
		return builtIn, tool, true
	}
	server, tool, _ = strings.Cut(rest, "__")
	return server, tool, server != "" && tool != ""
}

// textAt is the text at the first of some paths that has one.
func textAt(p script.Doc, paths ...string) string {
	for _, path := range paths {
		var text string
		if v, ok := p.Lookup(path); ok && json.Unmarshal([]byte(v), &text) == nil && text != "" && text != undefined {
			return text
		}
	}
	return ""
}

// conversion is a recording that becomes a playbook.
type conversion struct {
	how     FromRecording
	threads []*recordedThread
	notes   []string
}

func (c *conversion) note(format string, args ...any) {
	c.notes = append(c.notes, fmt.Sprintf(format, args...))
}

func (c *conversion) playbook() *playbook.Playbook {
	p := &playbook.Playbook{}
	for i, th := range c.threads {
		line := playbook.Line{Match: playbook.Match{ThreadID: regexp.MustCompile("^" + regexp.QuoteMeta(th.id) + "$")}}
		if len(th.turns) == 0 {
			c.note("threads[%d] (thread %q) has no turns", i, th.id)
		}
		defer func() { c.similar(p.Lines[i], fmt.Sprintf("threads[%d]", i)) }()
		slices.SortStableFunc(th.turns, func(t, u *recordedTurn) int { return cmp.Compare(t.began, u.began) })
		for _, t := range th.turns {
			what := fmt.Sprintf("thread %q", th.id)
			if t.id != "" {
				what += fmt.Sprintf(", turn %q", t.id)
			}
			line.Batches = c.batches(line.Batches, t, fmt.Sprintf("threads[%d]", i), what)
		}
		for _, item := range th.noTurn.items {
			switch item.typ {
			case event.UserMessage:
				c.note("thread %q: a message in no turn is left out", th.id)
			case event.MCPToolCall:
				c.note("thread %q: a call in no turn is left out%s", th.id, item.named())
			}
		}
		p.Lines = append(p.Lines, line)
	}
	return p
}

// similar notes batches that the messages of others wake, too.
func (c *conversion) similar(l playbook.Line, line string) {
	expects := func(b playbook.Batch) string {
		if len(b) == 0 {
			return ""
		}
		e, _ := b[0].(script.ExpectInputStep)
		return e.Text
	}
	for i, b := range l.Batches {
		for j, other := range l.Batches[i+1:] {
			if a, z := expects(b), expects(other); a != "" && a != z && strings.Contains(z, a) {
				c.note("%s.turns[%d] expects what is a part of what turns[%d] expects; if that one's message comes first, it plays this one", line, i, i+1+j)
			}
		}
	}
}

// batches appends those of a turn.
func (c *conversion) batches(all []playbook.Batch, t *recordedTurn, line, what string) []playbook.Batch {
	batch := playbook.Batch{}
	where := func() string { return fmt.Sprintf("%s.turns[%d] (%s)", line, len(all), what) }
	expect := func(m *recordedItem) {
		if m == nil || m.text == "" {
			c.note("%s: no text of the message that began it is recorded, so it has no expectInput", where())
			return
		}
		batch = append(batch, script.ExpectInputStep{Text: m.text})
	}
	first := slices.IndexFunc(t.items, func(it *recordedItem) bool { return it.typ == event.UserMessage })
	if first < 0 {
		expect(nil)
	} else {
		expect(t.items[first])
	}
	for i, item := range t.items {
		switch {
		case item.typ == event.MCPToolCall && item.tool == "":
			c.note("%s: a call is left out, since its tool is not recorded%s", where(), item.named())
		case item.typ == event.MCPToolCall && !item.known:
			c.note("%s: a call of %s is left out, since its arguments are not recorded%s", where(), item.tool, item.named())
		case item.typ == event.MCPToolCall:
			call := script.MCPStep{Server: item.server, Tool: item.tool, Arguments: item.arguments, Report: true}
			if call.Server == c.how.BuiltInServer {
				call.Server = ""
			}
			batch = append(batch, call)
		case item.typ == event.UserMessage && i != first:
			steer := script.AwaitSteerStep{}
			if c.how.MemberMachines {
				steer = script.AwaitSteerStep{Timeout: script.SteerTimeout, Continue: true}
			}
			all, batch = append(all, append(batch, steer)), playbook.Batch{}
			expect(item)
			if c.how.MemberMachines {
				c.note("%s: when no steer comes it plays all the same; what it must wait for then no recording can tell: give it waitFor steps, "+
					"behind its expectInput", where())
			}
		}
	}
	return append(all, batch)
}

// named says which item it is, where it has an id.
func (it *recordedItem) named() string {
	if it.id == "" {
		return ""
	}
	return fmt.Sprintf(" (item %q)", it.id)
}

// placeholders notes what was text in the recording and is none in a playbook.
func (c *conversion) placeholders(p *playbook.Playbook) {
	for i, l := range p.Lines {
		for j, b := range l.Batches {
			for k, s := range b {
				if t, ok := s.(script.TemplateStep); ok {
					c.note("threads[%d].turns[%d][%d] (thread %q): what is text in the recording is a placeholder here: {{%s}}", i, j, k, c.threads[i].id,
						strings.Join(slices.Compact(slices.Sorted(slices.Values(t.Placeholders()))), "}}, {{"))
				}
			}
		}
	}
}

// defined is JSON without what is undefined, and without white space. Its texts are what fresh makes of them, or as they are.
func defined(v json.RawMessage, fresh func(string) string) json.RawMessage {
	if v == nil {
		return nil
	}
	if fresh == nil {
		fresh = func(text string) string { return text }
	}
	d := json.NewDecoder(bytes.NewReader(v))
	d.UseNumber() // which are then as they were written
	out, _ := appendDefined(make([]byte, 0, len(v)), d, fresh)
	return out
}

// appendDefined appends the next value of d, which is valid, unless it is undefined.
func appendDefined(dst []byte, d *json.Decoder, fresh func(string) string) (out []byte, ok bool) {
	token, _ := d.Token()
	switch v := token.(type) {
	case json.Delim:
		dst = append(dst, byte(v))
		first := true
		for d.More() {
			before := len(dst)
			if !first {
				dst = append(dst, ',')
			}
			if v == '{' {
				key, _ := d.Token()
				dst = append(timeline.AppendText(dst, key.(string)), ':')
			}
			if dst, ok = appendDefined(dst, d, fresh); ok {
				first = false
			} else {
				dst = dst[:before]
			}
		}
		_, _ = d.Token()
		return append(dst, byte(v)+2), true // in ASCII, two behind [ and { are ] and }
	case string:
		if v == undefined {
			return dst, false
		}
		return timeline.AppendText(dst, fresh(v)), true
	case json.Number:
		return append(dst, v...), true
	case bool:
		return strconv.AppendBool(dst, v), true
	}
	return append(dst, "null"...), true
}

// member is a value of an array or an object, and where in the text of that it begins.
type member struct {
	key   string // in an object
	at    int
	value json.RawMessage
}

// members are the values of an array or an object, which is valid.
func members(v json.RawMessage) iter.Seq[member] {
	return func(yield func(member) bool) {
		d := json.NewDecoder(bytes.NewReader(v))
		open, _ := d.Token()
		for d.More() {
			var m member
			if open == json.Delim('{') {
				key, _ := d.Token()
				m.key, _ = key.(string)
			}
			_ = d.Decode(&m.value)
			m.at = int(d.InputOffset()) - len(m.value)
			if !yield(m) {
				return
			}
		}
	}
}

// kind is the first character of a value.
func kind(v json.RawMessage) byte { return bytes.TrimLeft(v, " \t\r\n")[0] }

// brief is a value for a message, on one line.
func brief(v json.RawMessage) string {
	var b bytes.Buffer
	_ = json.Compact(&b, v)
	if text := []rune(b.String()); len(text) > 60 {
		return string(text[:60]) + "…"
	}
	return b.String()
}

func lineOf(data []byte, at int) int {
	return 1 + bytes.Count(data[:max(at, 0)], []byte("\n"))
}
