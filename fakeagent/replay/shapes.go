package replay

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// field is a member that entries of a kind have.
type field struct {
	key      string
	shape    *shape
	optional bool
}

func has(key string, s *shape) field    { return field{key: key, shape: s} }
func mayHas(key string, s *shape) field { return field{key: key, shape: s, optional: true} }

// shape is what a value must be.
type shape struct {
	want   string // for messages
	fits   func(v []byte) bool
	fields []field // of an object
	each   *shape  // of an array
}

// maxSafeInteger is the greatest count that those who write journals can tell from the next one.
const maxSafeInteger int64 = 1<<53 - 1

var (
	anything = &shape{want: "there", fits: func([]byte) bool { return true }}
	aText    = &shape{want: "a string", fits: isText}
	aName    = &shape{want: "a string that is not empty", fits: func(v []byte) bool { return isText(v) && len(v) > 2 }}
	aFlag    = &shape{want: "true or false", fits: func(v []byte) bool { return v[0] == 't' || v[0] == 'f' }}
	anObject = &shape{want: "an object", fits: func(v []byte) bool { return v[0] == '{' }}
	aNumber  = &shape{want: "a whole number", fits: func(v []byte) bool { _, ok := wholeNumber(v); return ok }}
	// A duration may have a fraction, as some clocks give.
	aDuration = &shape{want: "a number that is not negative", fits: func(v []byte) bool { return v[0] >= '0' && v[0] <= '9' }}
	aCount    = countFrom(0)
	aLine     = &shape{want: "a string of one line", fits: func(v []byte) bool { return isText(v) && !strings.ContainsAny(textOf(v), "\n\x00") }}
	aBase64   = &shape{want: "a string in base64", fits: isBase64}

	aUsage = withFields(has("input", aCount), has("cached", aCount), has("output", aCount), mayHas("cacheCreated", aCount), mayHas("complete", aFlag))

	// What the payload of a known type says is read when a provider plays it: to read all of them here takes half as long again.
	anExecutorEvent = withFields(has("type", aName), has("payload", anObject))

	aCandidate = withFields(has("index", aCount), has("name", aText), mayHas("model", aText))

	aRevision  = withFields(has("commit", aName), has("tree", aName))
	anIdentity = withFields(has("name", aLine), has("email", aLine), has("date", aDate))
	aDate      = &shape{want: `seconds and a time zone, such as "1700000100 +0100"`, fits: isGitDate}
	theCommits = listOf(withFields(has("oid", aName), has("tree", aName), has("author", anIdentity), has("committer", anIdentity),
		has("message", aText), has("patch", aText), mayHas("raw", aBase64)))
)

func countFrom(from int64) *shape {
	return &shape{want: fmt.Sprintf("a whole number from %d to %d", from, maxSafeInteger), fits: func(v []byte) bool {
		n, ok := wholeNumber(v)
		return ok && n >= from
	}}
}

func oneOf(words ...string) *shape {
	return &shape{want: "one of " + strings.Join(words, ", "), fits: func(v []byte) bool { return isText(v) && slices.Contains(words, textOf(v)) }}
}

func withFields(fields ...field) *shape {
	return &shape{want: anObject.want, fits: anObject.fits, fields: fields}
}

func listOf(each *shape) *shape {
	return &shape{want: "an array", fits: func(v []byte) bool { return v[0] == '[' }, each: each}
}

// agentKinds are the kinds that an agent or its harness has. What is nil may have anything.
var agentKinds = map[string][]field{
	"prompt":       {has("text", aText)},
	"summary":      {has("durationMs", aDuration), has("status", aNumber), has("tokens", aUsage)},
	"text":         {has("text", aText)},
	"result":       {has("text", aText)},
	"conversation": {has("id", aText)},
	"usage":        {has("tokens", aUsage), mayHas("cumulative", aFlag)},
	"failure":      {has("message", aText), mayHas("status", aNumber)},
	"raw":          {has("value", aText), mayHas("bytes", aCount), mayHas("truncated", aFlag)},
	"tool":         {has("name", aText), mayHas("callId", aText), mayHas("parentCallId", aText)}, // whatever its input is, be it missing
	"tool-result": {has("callId", aText), has("name", aText), has("isError", aFlag), has("preview", aText), has("characters", aCount),
		mayHas("parentCallId", aText)},
	"steer":   {has("text", aText), has("mode", aText)},
	"stopped": {has("reason", aText)},
	"fallback": {has("from", aCandidate), has("to", aCandidate), has("failure", oneOf("quota", "unavailable")), has("message", aText),
		mayHas("resetAt", aText)},
	eventKind: {has(eventKind, anObject)}, // in our own journals only

	"text-delta": {mayHas("text", aText)}, "reasoning": {mayHas("text", aText)},

	"phase": nil, "warning": nil, "tool-denied": nil, "tool-output": nil, "step": nil, "stop-prevented": nil, "compaction": nil,
	"message-usage": nil, "quota": nil, "finished": nil, "stderr": nil, "file-change": nil, "model-request": nil,
	"model-response": nil, "model-retry": nil, "model-error": nil, "model-routing": nil, "hook": nil, "instructions-loaded": nil, "skills-loaded": nil,
	"subagent": nil, "stuck": nil,
}

// hostKinds are the others. Of them a replay needs little, so most may be missing.
var hostKinds = map[string][]field{
	"dispatch-start": nil, "workflow": nil, "candidate": nil, "queue": nil,
	"operation":      {mayHas("id", aText), mayHas("name", aText), mayHas("status", aText), mayHas("durationMs", aDuration)},
	"command-output": {mayHas("channel", aText), mayHas("text", aText)},
	commitsKind:      {mayHas("turn", countFrom(1)), mayHas("baseline", aRevision), mayHas("unavailable", aName)},
	finishedKind: {mayHas("status", oneOf("done", "failed", "cancelled")), mayHas("completed", aFlag), mayHas("branch", aText), mayHas("usage", aUsage),
		mayHas("error", withFields(mayHas("code", aText), has("message", aText), mayHas("status", aNumber)))},
	"decision": {has("status", oneOf("started", "finished", "failed")), has("provider", aText), has("model", aText), mayHas("durationMs", aDuration),
		mayHas("usage", anObject), mayHas("truncated", aFlag), mayHas("code", aText)},
	"decision-request":  {has("request", anything)},
	"decision-response": {has("response", anything)},
}

// headerFields are those of the kind journal, which is no entry of anybody.
var headerFields = []field{has("schema", countFrom(1)), mayHas("normalisers", listOf(aNormaliser)), mayHas("cwd", aText)}

var aNormaliser = &shape{want: `the name of a built-in one, or an object with a "pattern" and a "replace"`, fits: isNormaliser}

// entryKind is what is known of a kind.
type entryKind struct {
	name   string
	agent  bool // it is the agent's
	stored bool // it is an event of a turn, rather than what makes turns
	says   bool // it has a text that the agent says or thinks
	fields []field
}

var entryKinds = func() map[string]*entryKind {
	all := map[string]*entryKind{}
	for name, fields := range agentKinds {
		all[name] = &entryKind{
			name: name, agent: true, fields: fields,
			stored: !slices.Contains([]string{"phase", "prompt", "summary", "fallback"}, name),
			says:   slices.Contains([]string{"text", "text-delta", "reasoning", "result"}, name),
		}
	}
	for name, fields := range hostKinds {
		all[name] = &entryKind{name: name, fields: fields}
	}
	for _, k := range all {
		k.fields = append(k.fields, mayHas("subagentId", aText))
	}
	return all
}()

// entryFields are those of every entry.
var entryFields = []field{has("kind", aText), mayHas("source", aText)}

// envelopeKeys are the members that a journal puts around every event.
var envelopeKeys = []string{"seq", "at", "source", "scope", "label", "pass"}

// misfit is a value that has not the shape that it should have.
type misfit struct {
	path  string
	value []byte // nil: it is missing
	want  string
}

func (m *misfit) Error() string {
	is := "missing"
	if m.value != nil {
		is = excerpt(m.value)
	}
	return fmt.Sprintf("%s is %s; it must be %s", m.path, is, m.want)
}

// check is what does not fit into fields, or nil.
func (o *object) check(fields []field) *misfit {
	for _, f := range fields {
		v := o.get(f.key)
		if v == nil && f.optional {
			continue
		}
		if m := f.shape.check(v); m != nil {
			return m.in(f.key)
		}
	}
	return nil
}

func (s *shape) check(v []byte) *misfit {
	if v == nil || !s.fits(v) {
		return &misfit{value: v, want: s.want}
	}
	if s.fields != nil {
		o := objectOf(v)
		return o.check(s.fields)
	}
	if s.each != nil {
		i := 0
		for _, e := range elements(v) {
			if m := s.each.check(e); m != nil {
				return m.in(fmt.Sprintf("[%d]", i))
			}
			i++
		}
	}
	return nil
}

// in puts the path of a misfit behind that of what it is in.
func (m *misfit) in(outer string) *misfit {
	if m.path != "" && m.path[0] != '[' {
		outer += "."
	}
	m.path = outer + m.path
	return m
}

// unknownDecision is a member that no decision has.
func unknownDecision(o *object) error {
	known := []string{"kind", "subagentId"}
	for _, f := range hostKinds["decision"] {
		known = append(known, f.key)
	}
	for _, m := range o.members {
		if key := string(m.key); !slices.Contains(known, key) && !slices.Contains(envelopeKeys, key) {
			return fmt.Errorf("%.60q is nothing that a decision has; it has %s", key, strings.Join(known[2:], ", "))
		}
	}
	return nil
}

// wholeNumber is a number without a fraction, however it is written, if it is not too great to be sure of it.
func wholeNumber(v []byte) (int64, bool) {
	n, err := strconv.ParseInt(string(v), 10, 64)
	if err != nil {
		f, err := strconv.ParseFloat(string(v), 64)
		if err != nil || f != math.Trunc(f) || math.Abs(f) > float64(maxSafeInteger) {
			return 0, false
		}
		n = int64(f)
	}
	return n, n >= -maxSafeInteger && n <= maxSafeInteger
}

func isBase64(v []byte) bool {
	if !isText(v) {
		return false
	}
	_, err := base64.StdEncoding.DecodeString(textOf(v))
	return err == nil
}

var gitDateForm = regexp.MustCompile(`^[0-9]+ [+-][0-9]{4}$`)

func isGitDate(v []byte) bool { return isText(v) && gitDateForm.MatchString(textOf(v)) }

func isNormaliser(v []byte) bool {
	if v[0] != '{' {
		return isText(v) && !bytes.Equal(v, []byte(`""`))
	}
	o := objectOf(v)
	return o.check([]field{has("pattern", aText), has("replace", aText)}) == nil
}
