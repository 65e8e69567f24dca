package replay

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// AgentKind is where an agent comes from.
type AgentKind string

const (
	AgentCLI    AgentKind = "cli"    // a program that is started
	AgentCustom AgentKind = "custom" // code of the host
	AgentReplay AgentKind = "replay" // a journal
)

// Choice is yes, no, or nothing that anybody has said, which is not the same as no.
type Choice uint8

const (
	Unset Choice = iota
	No
	Yes
)

// UsageMode is where the usage of a turn comes from. "" leaves it open: what the agent reports counts, and nothing is missed.
type UsageMode string

const (
	UsageEvents      UsageMode = "events"      // what the agent reports while it runs
	UsageSession     UsageMode = "session"     // what its session says after it has ended
	UsageUnavailable UsageMode = "unavailable" // there is none
)

var usageModes = []string{string(UsageEvents), string(UsageSession), string(UsageUnavailable)}

// bootstraps are the agents that a host knows how to install.
var bootstraps = []string{"antigravity", "claude", "codex", "copilot", "cursor", "gemini", "kimi", "opencode"}

// Storage keeps the sessions of an agent, so that a conversation can go on in another workspace. It is a host's own; [Features] only asks
// whether there is one.
type Storage interface {
	// Capture keeps the session that an agent has left behind in a workspace.
	Capture(ctx context.Context, dir, conversation string) error

	// Locate is whether the session of a conversation is kept.
	Locate(ctx context.Context, conversation string) (bool, error)

	// Restore puts it into a workspace, where the agent finds it.
	Restore(ctx context.Context, dir, conversation string) error
}

// Features is what an agent can do, and what a host must see to. The zero value of each is that nothing is known of it.
type Features struct {
	Name                  string            // of the agent, for events and errors; it must have one
	Bootstrap             string            // which of the agents that a host can install it is; "" is none
	RequiresFinishedEvent Choice            // Yes: a turn without the event "finished" has failed
	Usage                 UsageMode         // where the usage of a turn comes from
	Variables             map[string]string // added to the environment of each of its commands
	Storage               Storage           // of its sessions; nil: they cannot be carried elsewhere
	Capture               Choice            // whether sessions are stored after each turn; Unset: if there is a Storage
	Resumable             Choice            // whether it can go on with a conversation; Unset: it may be tried
	Forkable              Choice            // whether it can go on with a copy of one; Unset: it may be tried

	// TranscriptUsage reads the usage of a turn from the text of its session. It is false if there is none in it. nil: none is read.
	TranscriptUsage func(text string) (Usage, bool)
}

// ReplayFeatures is what a replay can do.
func ReplayFeatures() Features {
	return Features{Name: "replay", Usage: UsageEvents, Capture: No, Resumable: Yes, Forkable: No}
}

// Check is what is wrong with the features, an [*Error] with the code configuration, or nil.
func (f Features) Check() error {
	switch {
	case f.Name == "":
		return configuration("an agent has no name; set Name")
	case f.Bootstrap != "" && !slices.Contains(bootstraps, f.Bootstrap):
		return f.wrong("%w", unknownOf("Bootstrap", f.Bootstrap, bootstraps))
	case f.Usage != "" && !slices.Contains(usageModes, string(f.Usage)):
		return f.wrong("%w", unknownOf("Usage", string(f.Usage), usageModes))
	case f.Capture == Yes && f.Storage == nil:
		return f.wrong("Capture is Yes, but there is nothing to store sessions in; set Storage")
	}
	for _, name := range slices.Sorted(maps.Keys(f.Variables)) {
		if name == "" || strings.ContainsAny(name, "=\x00") || strings.Contains(f.Variables[name], "\x00") {
			return f.wrong("Variables has %.60q, which cannot be set; a name has one character or more and no =, and neither it nor its value has a NUL", name)
		}
	}
	return nil
}

// wrong is about the agent of these features. A value of a variable must not be in it.
func (f Features) wrong(format string, args ...any) error {
	return configuration("the agent %.60q: %w", f.Name, fmt.Errorf(format, args...))
}

// Captures is whether a host stores the session after each turn.
func (f Features) Captures() bool { return f.Storage != nil && f.Capture != No }

// CheckContinuation is why a conversation cannot go on, or nil. It is for the time before anything has been started. cold is a conversation
// whose workspace is gone, so that its session must come from a [Storage].
func (f Features) CheckContinuation(cold bool) error {
	switch {
	case f.Resumable == No:
		return f.wrong("it cannot go on with a conversation; begin a new one, or set Resumable to Yes")
	case cold && f.Storage == nil:
		return f.wrong("it cannot go on with a conversation in another workspace, for its sessions are not kept; set Storage")
	}
	return nil
}

// CheckFork is why a conversation cannot be forked, or nil. It is for the time before anything has been started.
func (f Features) CheckFork() error {
	if f.Forkable == No {
		return f.wrong("it cannot fork a conversation; begin a new one, or set Forkable to Yes")
	}
	return nil
}

// MergeEnv is the environment of a host for the agent's commands: base, and above it the agent's Variables. A variable of the agent that the
// provider of the workspace sets too is an error, which has its name, for one of the two would be lost. The provider's own are not in it.
func (f Features) MergeEnv(base, provider map[string]string) (map[string]string, error) {
	for _, name := range slices.Sorted(maps.Keys(f.Variables)) {
		if _, both := provider[name]; both {
			return nil, f.wrong("Variables has %.60q, which the provider of the workspace sets too; let only one of them set it", name)
		}
	}
	merged := map[string]string{}
	maps.Copy(merged, base)
	maps.Copy(merged, f.Variables)
	return merged, nil
}

// TurnUsage is the usage of a turn: what the transcript says, if TranscriptUsage finds it there, and else what the agent has reported, nil if it
// has not. Where a mode is set, usage that is missing is marked as not complete: in the mode session also that which the transcript was to
// have. In the mode unavailable there is none at all.
func (f Features) TurnUsage(reported *Usage, transcript string) (u Usage) {
	if f.Usage == UsageUnavailable {
		return u
	}
	if f.TranscriptUsage != nil && transcript != "" {
		if u, ok := f.TranscriptUsage(transcript); ok {
			return u
		}
	}
	if reported != nil {
		u = *reported
	}
	if f.Usage == UsageSession || f.Usage == UsageEvents && reported == nil {
		u.Complete = new(bool)
	}
	return u
}

// Finished is why a turn has not come to its end, with the code process, or nil. An agent that must tell of it has failed if it did not, also if
// it has ended with status 0. Any other status is for the host to judge.
func (f Features) Finished(events []Event, status int) error {
	if f.RequiresFinishedEvent != Yes || slices.ContainsFunc(events, func(e Event) bool { return e.Kind() == "finished" }) {
		return nil
	}
	return process(`the agent %.60q ended with status %d and without the event "finished", so its turn is not whole`, f.Name, status)
}
